/*
** A helper thread for scans that are long enough to be shared.
**
** The helper is offered jobs, and takes one if it is idle; nobody ever waits for it. A job is counted,
** so that a helper that was put to sleep in the middle of one may finish it when its caller has long
** returned. Where there are no POSIX threads, or a single processor, there is no helper.
*/
#ifndef BSV_POOL_H
#define BSV_POOL_H

typedef struct bsv_pool bsv_pool;

typedef struct bsv_job {
  int references;                       /* guarded by the pool's mutex */
  void (*work)(struct bsv_job *job);    /* called by the helper */
  void (*destroy)(struct bsv_job *job); /* called with the last reference */
} bsv_job;

/* Starts the helper; NULL when there is none. The variable BSV_THREADS=1 leaves it out. */
bsv_pool *bsv_pool_new(void);
/* Waits for the helper to end. NULL does nothing. */
void bsv_pool_free(bsv_pool *pool);

/* Gives an idle helper a reference to the job; does nothing when it is busy. The caller has one. */
void bsv_pool_offer(bsv_pool *pool, bsv_job *job);
void bsv_job_unref(bsv_pool *pool, bsv_job *job);

#endif
