/*
** Public interface of the vector extension.
**
** What lives here: the entry point, and the code cache that a program with several connections to
** one index may share between them. The SQL interface is described in docs/vector.md.
*/
#ifndef SQLITE_VECTOR_H
#define SQLITE_VECTOR_H

#ifdef SQLITE_CORE
#include "sqlite3.h"
#else
#include "sqlite3ext.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && !defined(SQLITE_CORE)
#define BSV_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define BSV_EXPORT __attribute__((visibility("default")))
#else
#define BSV_EXPORT
#endif

/*
** Registers the vector functions and modules on one connection, and writes nothing to it.
** Fit for sqlite3_load_extension(), and callable directly when compiled with SQLITE_CORE; `api` is
** read only in the loadable build. The connection gets a code cache of its own.
*/
BSV_EXPORT int sqlite3_vector_init(sqlite3 *db, char **error_message, const sqlite3_api_routines *api);

/*
** Quantized codes in memory, shared by all connections that were registered with the same object.
** Reference counted; every function may be called from any thread. An entry is found by an identity
** that no two contents ever share, so one cache may serve several database files.
*/
typedef struct bsv_cache bsv_cache;

/* An empty cache with one reference, owned by the caller; NULL when out of memory. */
BSV_EXPORT bsv_cache *bsv_cache_new(void);
BSV_EXPORT void bsv_cache_ref(bsv_cache *cache);
/* Gives one reference back; the last one frees the codes. NULL is allowed and does nothing. */
BSV_EXPORT void bsv_cache_unref(bsv_cache *cache);
/* Bytes that the cached codes take at this moment. */
BSV_EXPORT sqlite3_int64 bsv_cache_bytes(bsv_cache *cache);

/*
** Like sqlite3_vector_init(), with a cache shared by the caller's connections. The connection takes
** a reference of its own and gives it back when it closes. `cache` may be NULL: a private one then.
** Only for builds with SQLITE_CORE. Returns SQLITE_OK or the code of the registration that failed.
*/
BSV_EXPORT int bsv_register(sqlite3 *db, bsv_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
