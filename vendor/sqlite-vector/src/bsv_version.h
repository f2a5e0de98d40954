/* The version that vector_version() answers. */
#ifndef BSV_VERSION_H
#define BSV_VERSION_H

#define BSV_VERSION "0.1.0"

#endif
