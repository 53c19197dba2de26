/*
 * A consumer of libfabric for tests: two ranks of a job do in each row what a real library was seen to
 * do. The ranks do the same at the same time, each for itself and for the other one.
 */
#ifndef CONSUMER_H
#define CONSUMER_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API FI_VERSION(1, 9)
#define NAME_BYTES 64

/* Values of libfabric 1 that the headers of libfabric 2 lack, or warn of. */
#define OLD_MR_BASIC (1 << 0)
#define OLD_MR_SCALABLE (1 << 1)
#define OLD_ORDER_STRICT 0x1FF
#define OLD_VARIABLE_MSG (1ULL << 48)
#define OLD_RESTRICTED_COMP (1ULL << 53)

/* What a row asks for; zero is what most do. */
struct setup {
	uint64_t caps;                /* default: all of WANTED */
	uint64_t tx_flags, rx_flags;  /* op_flags of the endpoint */
	enum fi_cq_format format;     /* default: tagged */
	size_t cq_size;
	uint64_t cq_flags;            /* of the binding, beside FI_TRANSMIT | FI_RECV */
	int mr_mode;
	enum fi_threading threading;
	enum fi_progress data_progress;
	enum fi_wait_obj wait_obj;
};

#define WANTED (FI_TAGGED | FI_MSG | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE | FI_RMA_EVENT)

/* One end of a row: an endpoint and what it is bound to, and the other rank's. */
struct end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t self, peer;
};

extern int me, other; /* ranks */

struct row {
	const char *name;
	void (*run)(void);
};
extern const struct row rows[];

/* Ends the process: the row that runs has failed. */
void fail(const char *file, int line, const char *what, int err) __attribute__((noreturn));

#define CHECK(right) ((right) ? (void)0 : fail(__FILE__, __LINE__, #right, 0))
#define OK(call)                                            \
	do {                                                \
		ssize_t err_ = (call);                      \
		if (err_)                                   \
			fail(__FILE__, __LINE__, #call, (int)err_); \
	} while (0)
/* An operation may be refused for the moment; then the consumer makes progress and tries again. */
#define POST(call)                                                    \
	do {                                                          \
		ssize_t posted_;                                      \
		int64_t end_ = deadline();                            \
		while ((posted_ = (call)) == -FI_EAGAIN)              \
			progress(end_, __FILE__, __LINE__);           \
		if (posted_)                                          \
			fail(__FILE__, __LINE__, #call, (int)posted_); \
	} while (0)
/* Waits until something is so. */
#define UNTIL(right)                                        \
	do {                                                \
		int64_t end_ = deadline();                  \
		while (!(right))                            \
			progress(end_, __FILE__, __LINE__); \
	} while (0)

int64_t deadline(void);
/* Makes progress; past the end the row fails. */
void progress(int64_t end, const char *file, int line);
void expired(int64_t end, const char *file, int line);

/* Hints with a setup's values, to be changed; and what the provider offers for them, or NULL. */
struct fi_info *hints_of(const struct setup *s);
struct fi_info *offer(uint32_t version, struct fi_info *hints);

/* Opens an end and tells the other rank, which does the same; waits for it and closes. */
void open_end(struct end *e, const struct setup *s);
void close_end(struct end *e);
/* Closes the endpoint alone, before what a row has bound to it. */
void close_endpoint(struct end *e);

/* Closes all that this rank has, as the other one does, and begins again. No end may be open. */
void reopen(void);

/* Swaps as many bytes with the other rank, over an endpoint that is no row's. */
void swap(const void *mine, void *theirs, size_t n);
void barrier(void);

/* The next completion, which is no error; the next error; nothing comes for a while. */
struct fi_cq_tagged_entry next(struct end *e);
struct fi_cq_tagged_entry next_from(struct end *e, fi_addr_t *source);
struct fi_cq_err_entry next_error(struct end *e);
void nothing(struct end *e);

/* Two completions in any order: that of the operation with this context is returned, the other is left in *rest. */
struct fi_cq_tagged_entry pick(struct end *e, void *context, struct fi_cq_tagged_entry *rest);

/* The bytes of a message: its own for each sender and seed. */
void fill(void *to, size_t n, int rank, int seed);
bool filled(const void *from, size_t n, int rank, int seed);

/* Memory that the other rank reaches, and where it reaches this rank's. */
struct window {
	struct fid_mr *mr;
	uint64_t key, at; /* of the other rank's */
};
void open_window(struct end *e, struct window *w, void *memory, size_t n, uint64_t access, uint64_t key);
void close_window(struct window *w);

#endif
