/*
** SQLite's C API for every file of the extension, in either build.
**
** With SQLITE_CORE the functions are linked directly. Without it they are reached through the
** pointer table that SQLite hands to a loadable extension; that pointer, `sqlite3_api`, is the one
** writable global, it belongs to SQLite's own macros, and bsv_extension.c defines it.
*/
#ifndef BSV_SQLITE_H
#define BSV_SQLITE_H

#ifdef SQLITE_CORE
#include "sqlite3.h"
#else
#include "sqlite3ext.h"
#ifdef BSV_DEFINES_SQLITE3_API
SQLITE_EXTENSION_INIT1
#else
SQLITE_EXTENSION_INIT3
#endif
#endif

#endif
