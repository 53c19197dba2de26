/* The objects that programs see. Each begins with libfabric's own struct. */
#ifndef SCORE_OBJECTS_H
#define SCORE_OBJECTS_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "_cgo_export.h"
#include "common.h"
#include "enter.h"
#include "spacing.h"

#define PM_NAME_BYTES 64
#define PM_INJECT 4096
/* Not libfabric's: an operation without completion. */
#define PM_QUIET (1ULL << 60)
/* The longest message or transfer. */
#define PM_MAX_MESSAGE ((size_t)1 << 37) /* uct.MaxRMA */

/* How many open objects use one: as long as there are any, closing it fails. */
typedef _Atomic int pm_users;

/* What an object uses. */
struct pm_uses {
	pm_users *of[16];
	int n;
};

static inline void pm_use(struct pm_uses *u, pm_users *of)
{
	if (u->n == (int)(sizeof u->of / sizeof *u->of))
		return; /* bound again and again */
	atomic_fetch_add(of, 1);
	u->of[u->n++] = of;
}

static inline void pm_unuse(struct pm_uses *u)
{
	while (u->n > 0)
		atomic_fetch_sub(u->of[--u->n], 1);
}

struct pm_fabric {
	struct fid_fabric fabric;
};

struct pm_domain {
	struct fid_domain domain;
	pm_users users;
	struct pm_uses uses;
	bool virtual_addresses; /* peers name memory by the owner's addresses */
	bool own_keys;          /* the library chooses keys */
};

struct pm_cq {
	struct fid_cq cq;
	pm_users users;
	struct pm_uses uses;
	int64_t handle;
	enum fi_cq_format format;
	uint64_t mask;
	score_entry *ring;
	atomic_flag lock; /* of the readers */
	bool taken; /* the last read found something, or an error */
	_Atomic uint64_t signaled;
	struct pm_spacing reads;
	/* Of reads that find nothing, see rest. */
	uint32_t idle, begun, patience;
	int64_t since, quiet_since, used;
	const struct pm_thread *reader; /* the last one that read in vain */
	uint32_t shared, turns; /* see shared */
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint64_t tail;
	_Atomic uint32_t more;
};

struct pm_counter {
	struct fid_cntr cntr;
	pm_users users;
	struct pm_uses uses;
	int64_t handle;
	_Atomic uint64_t value, failed;
};

struct pm_av {
	struct fid_av av;
	pm_users users;
	struct pm_uses uses;
	int64_t handle;
	bool events; /* insertions are reported to eq */
	struct pm_eq *eq;
};

struct pm_mr {
	struct fid_mr mr;
	struct pm_uses uses;
	int64_t handle;
};

/* Places in a name, see package ofi. */
#define PM_NAME_PORT 8
#define PM_NAME_RANK 20

/* A name of the rank that is no endpoint's, in memory of its own. */
void *pm_name_of_rank(uint32_t rank);

struct pm_ep {
	struct fid_ep ep;
	struct pm_uses uses;
	int32_t number;
	uint64_t tx_flags, rx_flags; /* of operations that name none */
	size_t min_multi;
	struct pm_spacing peeks;
	bool directed; /* receives may name a source; else what they name is ignored */
};

/* Calls that there are not. */
int pm_no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int pm_bind_eq(struct pm_uses *uses, struct fid *other); /* to which the events of an object go */
int pm_no_control(struct fid *fid, int command, void *arg);
int pm_no_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

int pm_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
	       struct fi_info **info);
int pm_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int pm_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context);
int pm_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
struct pm_eq;
pm_users *pm_eq_users(struct fid *eq);
/* Reports an error, or else an event of so many bytes. The error is -FI_ENOMEM. */
int pm_eq_put(struct pm_eq *eq, uint32_t event, const void *entry, size_t n, const struct fi_eq_err_entry *failed);
int pm_eq_trywait(struct fid *eq);
int pm_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);
int pm_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
int pm_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
int pm_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
extern struct fi_ops_mr pm_mr_ops;
extern struct fi_ops_msg pm_msg_ops;
extern struct fi_ops_tagged pm_tagged_ops;
extern struct fi_ops_rma pm_rma_ops;
extern struct fi_ops_atomic pm_atomic_ops;
int pm_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op, struct fi_atomic_attr *attr,
		    uint64_t flags);

static inline struct pm_ep *pm_ep_of(struct fid_ep *ep) { return (struct pm_ep *)ep; }

/* pm_progress is score_progress for who may be unable to enter Go; the error is that of pm_enter. */
static inline int64_t pm_progress(void)
{
	int64_t n = pm_enter();

	if (n)
		return n;
	n = score_progress();
	pm_leave();
	return n;
}

/* pm_wait sleeps until something happens, or has since w was seen, at most for microseconds; -1: as long as it takes. */
static inline int pm_wait(int64_t microseconds, score_watch *w)
{
	int err = pm_enter();

	if (err)
		return err;
	score_wait(microseconds, w);
	pm_leave();
	return 0;
}

/* pm_crowded reports whether the ranks on this node have fewer CPUs than they are. */
bool pm_crowded(void);
/* pm_return_faults gives the program its handlers of faults back, for faults outside this library. */
void pm_return_faults(void);

#endif
