/* SPDX-License-Identifier: Apache-2.0
 * The libfabric provider, seen from inside.
 *
 * Problem: MPI libraries speak libfabric; the simulated network interface speaks libexanet. Matching, protocols,
 * RDMA checks and time all live behind libexanet, so what remains here is bookkeeping: which application context a
 * completion belongs to, which queue and counter it goes to, and the attributes by which callers choose a provider.
 *
 * Model: one interface a process and one lock around it (libexanet asks its callers to serialise). Every posted
 * operation that must report back owns a `struct exanet_op`, whose address is libexanet's cookie. One progress
 * function polls the interface for the whole process and sorts completions by endpoint, so several domains,
 * endpoints and queues share it.
 *
 * Limits: memory keys are one name space a process, not a domain; no file-descriptor wait objects, since a
 * descriptor would become readable in real time, not in the machine's; no shared or scalable contexts.
 *
 * The one shared object serves libfabric 1.17 and 2.x, so it calls no libfabric function and over-allocates what
 * grew in between. */
#ifndef EXANET_PROV_H
#define EXANET_PROV_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "exanet/exanet.h"
#include "runtime/lib/internal.h"

#define EXANET_IOV_LIMIT 4
#define EXANET_TX_SIZE 4096 /* outstanding transmit operations of an endpoint unless the caller says otherwise */
#define EXANET_RX_SIZE 65536 /* posted receives: MPI libraries retry for ever when receives run out, so be generous */
#define EXANET_QUEUE_MAX (1u << 20)
#define EXANET_ABI_SLACK 256 /* bytes appended to structs that later libfabric versions read further into */
#define EXANET_FI_VERSION FI_VERSION(2, 5)
#define EXANET_PROV_VERSION FI_VERSION(0, 1)

#define EXANET_CONTAINER(ptr, type, field) ((type *)((char *)(ptr) - offsetof(type, field)))

enum exanet_counter {
  EXANET_CNTR_SEND,
  EXANET_CNTR_RECV,
  EXANET_CNTR_READ,
  EXANET_CNTR_WRITE,
  EXANET_CNTR_REMOTE_READ,
  EXANET_CNTR_REMOTE_WRITE,
  EXANET_CNTR_COUNT
};

/* -- the process's interface (process.c, progress.c) --------------------------------------------------------------- */
struct exanet_core;
struct exanet_mr;

struct exanet_process {
  pthread_mutex_t lock;
  bool alone; /* the one thread of the process is inside, without the lock */
  _Atomic int waiting; /* threads that wait for the lock to post: a poll that found nothing lets them go first */
  struct exanet_ni *ni;
  struct exanet_core **endpoints; /* by libexanet's endpoint number */
  size_t endpoint_slots;
  struct exanet_mr *regions;
};
extern struct exanet_process exanet_process;

void exanet_lock(void);
void exanet_lock_to_poll(
    void); /* for who only looks for completions: does not keep others from waiting in virtual time */
void exanet_unlock(void);
int exanet_process_open(struct exanet_ni **ni); /* idempotent; -FI_ENODATA where there is no simulated machine */
/* Before each operation and each poll, lock held. */
static inline void exanet_begin_operation(void) {
  void (*first)(void) = exanet_first_operation;
  if (__builtin_expect(first == NULL, true)) return;
  exanet_first_operation = NULL;
  first();
}
/* The following want the lock held. Polls once and sorts what came; returns the number of completions. Never loops. */
int exanet_progress(void);
int exanet_progress_wait(uint64_t timeout_ps);
/* The same once, by exanet_wait_once(). */
void exanet_progress_once(struct exanet_ni *ni, uint64_t until_ps, bool serves);
/* Between two empty polls of a blocking call: lets other threads of the process in. */
void exanet_progress_yield(void);

/* -- waiting (wait.c) ---------------------------------------------------------------------------------------------- */
struct exanet_stopwatch {
  bool virtual_time;
  uint64_t start_ps;
};
struct exanet_domain;
bool exanet_wait_possible(enum fi_wait_obj object);
uint64_t exanet_wait_timeout_ps(int timeout_ms);
void exanet_wait_step(const struct exanet_domain *domain,
                      uint64_t timeout_ps); /* lock held; may be dropped for a while */
struct exanet_stopwatch exanet_stopwatch_start(void);
uint64_t exanet_stopwatch_ps(const struct exanet_stopwatch *watch);
bool exanet_domain_threaded(const struct exanet_domain *domain);

/* -- addresses (addr.c) -------------------------------------------------------------------------------------------- */
#define EXANET_ADDR_FORMAT (FI_PROV_SPECIFIC | 0x45u) /* native: an exanet_addr of 8 bytes */
#define EXANET_ADDR_STRING_MAX 40

bool exanet_name_known(uint32_t format);
size_t exanet_name_size(uint32_t format);
void exanet_name_write(uint32_t format, exanet_addr addr, void *name);
int exanet_name_read(uint32_t format, const void *name,
                     exanet_addr *addr); /* -FI_EINVAL: not an address of this machine */
bool exanet_name_is_self(const char *node);
int exanet_name_parse(const char *node, const char *service, exanet_addr *addr);
int exanet_name_print(exanet_addr addr, char *buf, size_t len);

/* -- objects ------------------------------------------------------------------------------------------------------- */
struct exanet_fabric {
  struct fid_fabric fid;
};

struct exanet_eq {
  struct fid_eq fid;
  pthread_mutex_t lock;
  struct exanet_eq_event *head, **tail;
};

struct exanet_domain {
  struct fid_domain fid;
  struct exanet_eq *eq; /* memory registration events go here when bound with FI_REG_MR */
  enum fi_threading threading;
  uint32_t addr_format;
  bool virtual_addresses; /* remote addresses are the target's virtual addresses rather than offsets */
  bool provider_keys;
  bool remote_events; /* the caller wants to count what other ranks do to his memory (FI_RMA_EVENT) */
  _Atomic int users;
};

struct exanet_av {
  struct fid_av fid;
  struct exanet_domain *domain;
  exanet_addr *entries; /* by fi_addr_t; EXANET_ANY: removed */
  size_t count, capacity;
  uint32_t *buckets; /* reverse map, open addressing: index + 1, 0 free; rebuilt when entries change shape */
  size_t bucket_count;
};

struct exanet_mr {
  struct fid_mr fid;
  struct exanet_domain *domain;
  struct exanet_cntr *counter;
  uint64_t counter_flags;
  struct exanet_mr *next; /* all regions of the process */
};

struct exanet_cq_slot {
  void *context;
  uint64_t flags;
  size_t len;
  void *buf;
  uint64_t data;
  uint64_t tag;
  size_t overflow; /* bytes that did not fit */
  exanet_addr peer;
  fi_addr_t source;
  int error; /* positive errno value, 0: success */
};

struct exanet_cq {
  struct fid_cq fid;
  struct exanet_domain *domain;
  enum fi_cq_format format;
  enum fi_cq_wait_cond wait_cond;
  enum fi_wait_obj wait_obj;
  size_t limit; /* posts are refused while so many completions wait here */
  struct exanet_cq_slot *slots;
  size_t head, count, capacity;
  bool signaled;
  exanet_addr error_peer; /* what err_data points to until the next read */
};

/* The i-th entry that waits to be read. */
static inline struct exanet_cq_slot *exanet_cq_slot(struct exanet_cq *cq, size_t i) {
  return &cq->slots[(cq->head + i) & (cq->capacity - 1)];
}

struct exanet_cntr {
  struct fid_cntr fid;
  struct exanet_domain *domain;
  uint64_t value, errors;
  uint64_t seen, seen_errors; /* what the last read returned: only an unchanged counter polls */
  bool polled; /* values have been read since errors were */
};

/* Shared by an endpoint and its aliases. */
struct exanet_core {
  struct exanet_domain *domain;
  struct exanet_av *av;
  struct exanet_cq *tx_cq, *rx_cq;
  struct exanet_cntr *counters[EXANET_CNTR_COUNT];
  struct exanet_eq *eq;
  uint16_t id;
  bool enabled;
  bool tx_selective, rx_selective;
  bool want_source, want_source_error;
  uint64_t caps;
  size_t inject_size, tx_size, rx_size;
  size_t tx_used, rx_used;
  size_t min_multi_recv;
  struct exanet_op *ops; /* outstanding, newest first */
  int references; /* the endpoint and its aliases */
};

struct exanet_endpoint {
  struct fid_ep fid;
  struct exanet_core *core;
  uint64_t tx_flags, rx_flags; /* default operation flags */
};

/* -- queues and counters, as progress fills them (queues.c); lock held --------------------------------------------- */
void exanet_cq_push(struct exanet_cq *cq, const struct exanet_cq_slot *slot);
struct exanet_cq_slot *exanet_cq_newest(struct exanet_cq *cq);
void exanet_cntr_count(struct exanet_cntr *cntr, bool error);

/* -- operations (op.c) --------------------------------------------------------------------------------------------- */
enum exanet_op_class { EXANET_OP_TX, EXANET_OP_RX, EXANET_OP_PEEK, EXANET_OP_CLAIMED };

struct exanet_op {
  struct exanet_op *next, *prev;
  struct exanet_core *core; /* NULL: the endpoint was closed meanwhile */
  void *context;
  struct exn_thread *poster; /* NULL: the rank's only thread */
  uint64_t cq_flags;
  size_t len;
  void *buf;
  uint64_t tag;
  enum exanet_op_class op_class;
  enum exanet_counter counter;
  bool quiet; /* no queue entry on success */
  bool multi;
  void *bounce; /* contiguous stand-in for a list of buffers */
  struct iovec *scatter; /* where to take `bounce` apart on completion */
  size_t scatter_count;
};

/* Contract: lock held. NULL when memory is exhausted. `finish` releases the op and whatever it owns. */
struct exanet_op *exanet_op_take(struct exanet_core *core, enum exanet_op_class op_class, void *context);
void exanet_op_finish(struct exanet_op *op);
void exanet_op_orphan_all(struct exanet_core *core);
void exanet_op_release_memory(void);
struct exanet_op *exanet_op_find(struct exanet_core *core, enum exanet_op_class op_class, const void *context);
void exanet_op_scatter(const struct exanet_op *op, size_t bytes);

/* One transmit operation on its way to libexanet. `begin` fills it; after the libexanet call `end` keeps or returns
   the op. */
struct exanet_tx {
  struct exanet_op *op; /* NULL: silent */
  uint32_t ni_flags;
  const void *buf;
  size_t len;
  exanet_addr to;
  void *bounce;
};
struct exanet_tx_request {
  const struct iovec *iov;
  size_t iov_count;
  fi_addr_t peer;
  uint64_t flags; /* FI_* operation flags, resolved */
  uint64_t cq_flags;
  enum exanet_counter counter;
  void *context;
  bool inject; /* an fi_inject call: never completes */
  bool into; /* data comes back into the list (reads) */
};
int exanet_tx_begin(struct exanet_core *core, const struct exanet_tx_request *request, struct exanet_tx *tx);
ssize_t exanet_tx_end(struct exanet_tx *tx, int rc);
static inline uint64_t exanet_tx_cookie(const struct exanet_tx *tx) { return (uint64_t)(uintptr_t)tx->op; }

/* -- verbs across files -------------------------------------------------------------------------------------------- */
int exanet_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info);
int exanet_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int exanet_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context);
int exanet_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
void exanet_eq_push(struct exanet_eq *eq, uint32_t event, fid_t fid, void *context, uint64_t data, int err);
int exanet_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);
int exanet_av_resolve(const struct exanet_av *av, fi_addr_t fi_addr, exanet_addr *addr); /* lock held */
fi_addr_t exanet_av_reverse(const struct exanet_av *av, exanet_addr addr); /* lock held */
int exanet_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
int exanet_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
int exanet_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **pollset);
int exanet_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
int exanet_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
                        struct fi_atomic_attr *attr, uint64_t flags);

extern struct fi_ops_mr exanet_mr_ops;
extern struct fi_ops_msg exanet_msg_ops;
extern struct fi_ops_tagged exanet_tagged_ops;
extern struct fi_ops_rma exanet_rma_ops;
extern struct fi_ops_atomic exanet_atomic_ops;

/* Messages, tagged or not (msg.c). */
struct exanet_message {
  const struct iovec *iov;
  size_t iov_count;
  fi_addr_t peer;
  uint64_t tag, ignore, data;
  void *context;
  uint64_t flags;
  bool tagged;
  bool inject;
};
ssize_t exanet_message_send(struct fid_ep *ep, const struct exanet_message *message);
ssize_t exanet_message_recv(struct fid_ep *ep, const struct exanet_message *message);

static inline struct exanet_endpoint *exanet_endpoint_of(struct fid_ep *fid) {
  return EXANET_CONTAINER(fid, struct exanet_endpoint, fid);
}
static inline uint64_t exanet_tx_flags(struct fid_ep *fid) { return exanet_endpoint_of(fid)->tx_flags; }
static inline uint64_t exanet_rx_flags(struct fid_ep *fid) { return exanet_endpoint_of(fid)->rx_flags; }

/* -- errors (errors.c) --------------------------------------------------------------------------------------------- */
/* Error codes: libexanet's are errno values, as libfabric's are; two have names of their own. */
int exanet_fi_errno(int status);
const char *exanet_error_text(int error, char *buf, size_t len);
/* For operations that libfabric names and this provider does not have. */
int exanet_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int exanet_no_control(struct fid *fid, int command, void *arg);
int exanet_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
