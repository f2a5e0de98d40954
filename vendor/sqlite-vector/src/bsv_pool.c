/* The helper thread. */
#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* sysconf() and getpid() beside strict C */
#endif

#include "bsv_pool.h"

#include <stdlib.h>
#include <string.h>

#include "bsv_sqlite.h"

#if !defined(_WIN32)

#include <pthread.h>
#include <unistd.h>

struct bsv_pool {
  pthread_mutex_t mutex;
  pthread_cond_t offered;
  pthread_t thread;
  pid_t process; /* a forked child inherits this memory, but no helper */
  bsv_job *job;  /* what the helper is to do or does */
  int stop;
};

static void *helper(void *pointer) {
  bsv_pool *pool = pointer;
  pthread_mutex_lock(&pool->mutex);
  for (;;) {
    while (pool->job == NULL && !pool->stop) pthread_cond_wait(&pool->offered, &pool->mutex);
    if (pool->stop) break;
    pthread_mutex_unlock(&pool->mutex);
    pool->job->work(pool->job);
    bsv_job_unref(pool, pool->job);
    pthread_mutex_lock(&pool->mutex);
    pool->job = NULL;
  }
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

bsv_pool *bsv_pool_new(void) {
  const char *threads = getenv("BSV_THREADS");
  if ((threads && strcmp(threads, "1") == 0) || sysconf(_SC_NPROCESSORS_ONLN) < 2) return NULL;
  bsv_pool *pool = sqlite3_malloc64(sizeof *pool);
  if (pool == NULL) return NULL;
  memset(pool, 0, sizeof *pool);
  pool->process = getpid();
  if (pthread_mutex_init(&pool->mutex, NULL) == 0) {
    if (pthread_cond_init(&pool->offered, NULL) == 0) {
      if (pthread_create(&pool->thread, NULL, helper, pool) == 0) return pool;
      pthread_cond_destroy(&pool->offered);
    }
    pthread_mutex_destroy(&pool->mutex);
  }
  sqlite3_free(pool);
  return NULL;
}

void bsv_pool_free(bsv_pool *pool) {
  if (pool == NULL) return;
  if (pool->process == getpid()) {
    pthread_mutex_lock(&pool->mutex);
    pool->stop = 1;
    pthread_cond_signal(&pool->offered);
    pthread_mutex_unlock(&pool->mutex);
    pthread_join(pool->thread, NULL);
    /* A job that was offered after the helper's last look. */
    if (pool->job != NULL) bsv_job_unref(pool, pool->job);
    pthread_cond_destroy(&pool->offered);
    pthread_mutex_destroy(&pool->mutex);
  }
  sqlite3_free(pool);
}

void bsv_pool_offer(bsv_pool *pool, bsv_job *job) {
  if (pool == NULL || pool->process != getpid()) return;
  pthread_mutex_lock(&pool->mutex);
  if (pool->job == NULL) {
    pool->job = job;
    job->references++;
    pthread_cond_signal(&pool->offered);
  }
  pthread_mutex_unlock(&pool->mutex);
}

void bsv_job_unref(bsv_pool *pool, bsv_job *job) {
  pthread_mutex_lock(&pool->mutex);
  int left = --job->references;
  pthread_mutex_unlock(&pool->mutex);
  if (left == 0) job->destroy(job);
}

#else

bsv_pool *bsv_pool_new(void) { return NULL; }
void bsv_pool_free(bsv_pool *pool) { (void)pool; }
void bsv_pool_offer(bsv_pool *pool, bsv_job *job) { (void)pool, (void)job; }
void bsv_job_unref(bsv_pool *pool, bsv_job *job) {
  (void)pool;
  if (--job->references == 0) job->destroy(job);
}

#endif
