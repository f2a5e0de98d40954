/*
** The scalar distance functions, for SQL that combines distances with other scores.
**
** Either argument may be a BLOB or text, as vectors of the type that a third argument names (float32
** without one). The second one is taken as the query: where it is constant in a statement it is
** prepared once.
*/
#include "bsv_distance.h"

#include <string.h>

#include "bsv_text.h"

static const struct {
  const char *name;
  bsv_metric metric;
} functions[] = {
    {"vector_distance_cosine", BSV_COSINE},
    {"vector_distance_l2", BSV_L2},
    {"vector_distance_l1", BSV_L1},
    {"vector_distance_dot", BSV_DOT},
};

#define N_FUNCTIONS (sizeof functions / sizeof functions[0])

/* What a function is registered with. */
typedef struct distance_function {
  bsv_conn *conn;
  const char *name;
  bsv_metric metric;
} distance_function;

static void free_query(void *pointer) {
  bsv_query_clear(pointer);
  sqlite3_free(pointer);
}

/* Frees the message; NULL means that memory ran out. */
static void set_error(sqlite3_context *context, char *message) {
  if (message == NULL) {
    sqlite3_result_error_nomem(context);
  } else {
    sqlite3_result_error(context, message, -1);
  }
  sqlite3_free(message);
}

/* A vector's bytes; `*owned` is to be freed. 0 with an error set when it is none. */
static int vector_bytes(sqlite3_context *context, const distance_function *f, int which, bsv_type type, sqlite3_value *value,
                        const void **bytes, size_t *n, void **owned) {
  char *message = NULL;
  int rc = SQLITE_OK;
  *owned = NULL;
  if (sqlite3_value_type(value) == SQLITE_TEXT) {
    size_t dim;
    const char *text = (const char *)sqlite3_value_text(value);
    rc = text ? bsv_parse_vector(text, (size_t)sqlite3_value_bytes(value), type, owned, &dim, &message) : SQLITE_NOMEM;
    *bytes = *owned;
    *n = rc == SQLITE_OK ? (size_t)bsv_vector_bytes(type, dim) : 0;
  } else if (sqlite3_value_type(value) == SQLITE_BLOB) {
    *bytes = sqlite3_value_blob(value);
    *n = (size_t)sqlite3_value_bytes(value);
  } else {
    message = sqlite3_mprintf("%s: argument %d must be a vector as TEXT or BLOB", f->name, which + 1);
    rc = SQLITE_ERROR;
  }
  if (rc == SQLITE_OK) return 1;
  set_error(context, message);
  return 0;
}

/* Prepares the second argument. NULL with an error set when it is no vector. */
static bsv_query *make_query(sqlite3_context *context, const distance_function *f, bsv_type type, sqlite3_value *value) {
  const void *bytes;
  void *owned;
  size_t n;
  if (!vector_bytes(context, f, 1, type, value, &bytes, &n, &owned)) return NULL;
  size_t element = type == BSV_BIT ? 1 : (size_t)bsv_vector_bytes(type, 1);
  bsv_query *query = NULL;
  if (n == 0 || n % element != 0) {
    set_error(context, sqlite3_mprintf("%s: argument 2 has %llu bytes, which is no vector of type %s", f->name, (sqlite3_uint64)n,
                                       bsv_type_name(type)));
  } else {
    size_t dim = type == BSV_BIT ? n * 8 : n / element;
    query = sqlite3_malloc64(sizeof *query);
    if (query == NULL || bsv_query_init(query, f->conn->kernels, type, f->metric, 0, bytes, dim) != SQLITE_OK) {
      sqlite3_free(query);
      query = NULL;
      sqlite3_result_error_nomem(context);
    }
  }
  sqlite3_free(owned);
  return query;
}

static int type_argument(sqlite3_context *context, const distance_function *f, int argc, sqlite3_value **argv, bsv_type *type) {
  *type = BSV_F32;
  if (argc < 3) return 1;
  const char *text = (const char *)sqlite3_value_text(argv[2]);
  if (text != NULL && bsv_type_parse(text, strlen(text), type)) return 1;
  set_error(context, sqlite3_mprintf("%s: unknown vector type '%s': use FLOAT32, FLOAT16, FLOATB16, INT8, UINT8 or BIT", f->name,
                                     text ? text : "NULL"));
  return 0;
}

static void distance(sqlite3_context *context, int argc, sqlite3_value **argv) {
  const distance_function *f = sqlite3_user_data(context);
  bsv_type type;
  if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
  if (!type_argument(context, f, argc, argv, &type)) return;

  bsv_query *query = sqlite3_get_auxdata(context, 1);
  int is_new = query == NULL || query->type != type;
  if (is_new && (query = make_query(context, f, type, argv[1])) == NULL) return;
  const void *bytes;
  void *owned;
  size_t n;
  if (vector_bytes(context, f, 0, type, argv[0], &bytes, &n, &owned)) {
    if (n == query->bytes) {
      sqlite3_result_double(context, (double)bsv_query_distance(query, bytes));
    } else {
      set_error(context, sqlite3_mprintf("%s: the vectors have different sizes, %llu and %llu bytes", f->name, (sqlite3_uint64)n,
                                         (sqlite3_uint64)query->bytes));
    }
  }
  sqlite3_free(owned);
  if (is_new) sqlite3_set_auxdata(context, 1, query, free_query); /* kept while the argument is constant */
}

static void free_function(void *pointer) {
  distance_function *f = pointer;
  bsv_conn_unref(f->conn);
  sqlite3_free(f);
}

int bsv_distance_register(bsv_conn *conn) {
  for (size_t i = 0; i < 2 * N_FUNCTIONS; i++) {
    distance_function *f = sqlite3_malloc64(sizeof *f);
    if (f == NULL) return SQLITE_NOMEM;
    f->conn = conn;
    f->name = functions[i / 2].name;
    f->metric = functions[i / 2].metric;
    conn->references++;
    /* On failure SQLite calls free_function() itself. */
    int rc = sqlite3_create_function_v2(conn->db, f->name, i % 2 ? 3 : 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, f,
                                        distance, NULL, NULL, free_function);
    if (rc != SQLITE_OK) return rc;
  }
  return SQLITE_OK;
}
