/* Completion queues. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "objects.h"
#include "waiting.h"

/*
 * Programs that poll for a completion sleep between polls, for a short time: they may poll for
 * something else, too. A message ends the sleep.
 */
enum {
	CLOCK_READS = 16,      /* empty reads before the clock is read: a program that waits for an answer never reads it */
	TIGHT_NS = 4000,       /* CPU time of a read in vain, or a probe, twice over; a program that takes no more between reads does nothing but poll */
	NAP_US = 1000,         /* the longest sleep at first */
	LONG_NAP_US = 10000,   /* of a program that found nothing for LONG_QUIET_NS */
	/* Of one that found nothing for IDLE_NS: jobs that use 10 ms of a second are not idle. */
	IDLE_NAP_US = 100000,
	QUIET_NS = 10000000,   /* a program that found nothing for so long polls less between sleeps */
	LONG_QUIET_NS = 100000000,
	IDLE_NS = 1000000000,
	/* Ten milliseconds of empty reads, so that a program that computes in step with its neighbours never sleeps. */
	IDLE_READS = 1 << 16,
	/*
	 * If ranks share CPUs, the one that is waited for may need this one, and often for some microseconds only: a sleep takes
	 * ten times as long as a yield. A program that yields by itself between its reads needs no more for a short message.
	 */
	YIELD_AFTER = 6,
	/* Then it sleeps: Linux's scheduler loses count over many yields (Nap in package channels). */
	CROWDED_READS = 24,
	/* The shortest sleep of one that only polls, then. It sleeps as long as it has waited: each end of a sleep interrupts a peer. */
	CROWDED_NAP_US = 100,
	/* Threads share a queue until one has read it in vain so often in a row: some milliseconds. */
	SHARED_READS = 1 << 12,
	/* Threads that take more turns in one wait all poll: none needs the CPU more than another. */
	WAIT_TURNS = 2,
};

static int64_t between(int64_t least, int64_t n, int64_t most) { return n < least ? least : n > most ? most : n; }

/* one_cpu reports whether all threads of the process had one CPU when it first waited. */
static bool one_cpu(void)
{
	static _Atomic int cpus;
	cpu_set_t set;

	if (cpus == 0)
		cpus = sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : CPU_SETSIZE;
	return cpus == 1;
}

/*
 * shared reports whether the reader may keep the CPU from a thread of this rank whose message it has found: of threads
 * that wait, one reads the queue, and the others sleep.
 */
static bool shared(struct pm_cq *q)
{
	if (q->reader != &pm_thread) {
		q->shared = q->reader ? SHARED_READS : 0;
		q->turns++;
	} else if (q->shared > 0) {
		q->shared--;
	}
	q->reader = &pm_thread;
	return q->shared > 0 && q->turns <= WAIT_TURNS && !pm_thread.probes && one_cpu();
}

static uint32_t patience(void) { return pm_crowded() ? CROWDED_READS : IDLE_READS; }

static void lock(atomic_flag *l)
{
	while (atomic_flag_test_and_set_explicit(l, memory_order_acquire))
		;
}

static void unlock(atomic_flag *l) { atomic_flag_clear_explicit(l, memory_order_release); }

static size_t entry_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return sizeof(struct fi_cq_entry);
	}
}

static void put(enum fi_cq_format format, void *to, const score_entry *e)
{
	struct fi_cq_tagged_entry t = {
		.op_context = (void *)(uintptr_t)e->context, .flags = e->flags, .len = e->length,
		.buf = (void *)(uintptr_t)e->buffer, .data = e->data, .tag = e->tag,
	};
	memcpy(to, &t, entry_size(format)); /* each format is the beginning of the next */
}

/* take reads up to count entries; -FI_EAVAIL if the first is an error. */
static ssize_t take(struct pm_cq *q, void *buf, size_t count, fi_addr_t *sources)
{
	uint64_t head, tail;
	size_t n = 0;

	if (atomic_load_explicit(&q->head, memory_order_relaxed) == atomic_load_explicit(&q->tail, memory_order_acquire))
		return 0;
	lock(&q->lock);
	/* Only now: other readers may have gone beyond a tail that was read before. */
	head = atomic_load_explicit(&q->head, memory_order_relaxed);
	tail = atomic_load_explicit(&q->tail, memory_order_acquire);
	for (; n < count && head != tail; n++, head++) {
		score_entry *e = &q->ring[head & q->mask];
		if (e->err)
			break;
		put(q->format, (char *)buf + n * entry_size(q->format), e);
		if (sources)
			sources[n] = e->source;
	}
	atomic_store_explicit(&q->head, head, memory_order_release);
	unlock(&q->lock);
	return n == 0 && head != tail ? -FI_EAVAIL : (ssize_t)n;
}

/* begin_reads begins to measure reads in vain. */
static void begin_reads(struct pm_cq *q)
{
	q->begun = q->idle;
	q->since = nanoseconds();
	q->used = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * rest is called after a read that found nothing. After many of them it sleeps no longer than they
 * took, so that a program that works between its reads, or polls many things, loses half its time
 * at most. One that only polls, and has for long, sleeps longer after fewer reads.
 */
static void rest(struct pm_cq *q)
{
	int64_t now, used, quiet, nap;
	bool threads = shared(q);

	/* The first yield gives a thread the CPU, mostly: more than before a sleep are of no use. */
	if (++q->idle > YIELD_AFTER && (pm_crowded() || (threads && q->idle <= CROWDED_READS)))
		sched_yield();
	if (q->idle <= CLOCK_READS)
		return;
	if (q->since == 0) {
		q->patience = patience();
		q->quiet_since = nanoseconds();
		begin_reads(q);
	}
	if (q->idle < q->patience)
		return;
	now = nanoseconds();
	used = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - q->used;
	quiet = now - q->quiet_since;
	nap = (now - q->since) / 1000;
	if (nap > NAP_US)
		nap = NAP_US;
	if (used > (int64_t)(q->idle - q->begun) * TIGHT_NS) {
		q->patience = patience();
	} else if (quiet > QUIET_NS) {
		q->patience /= 4;
		nap = quiet > IDLE_NS ? IDLE_NAP_US : quiet > LONG_QUIET_NS ? LONG_NAP_US : NAP_US;
	} else if (pm_crowded()) {
		nap = between(CROWDED_NAP_US, quiet / 1000, NAP_US);
	}
	if (pm_enter() == 0) {
		score_nap(q->handle, nap);
		pm_leave();
	}
	q->idle = 0;
	begin_reads(q);
}

/* poll_once reads once, with progress if nothing is there. */
static ssize_t poll_once(struct pm_cq *q, void *buf, size_t count, fi_addr_t *sources)
{
	ssize_t n = take(q, buf, count, sources);
	int64_t made;

	if (n)
		return n;
	made = pm_progress();
	if (made < 0)
		return made;
	n = take(q, buf, count, sources);
	if (n == 0)
		polled(&q->reads, made > 0);
	return n;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *sources)
{
	struct pm_cq *q = (struct pm_cq *)fid;
	bool poll = !q->taken && !soon(&q->reads);
	ssize_t n = poll ? poll_once(q, buf, count, sources) : take(q, buf, count, sources);

	if (n == 0 && !poll) {
		q->taken = false; /* the program reads until there is no more, and goes on with what it has */
		return -FI_EAGAIN;
	}
	if (n == 0) {
		rest(q);
		return -FI_EAGAIN;
	}
	q->taken = n > 0 || n == -FI_EAVAIL;
	if (n > 0) {
		found(&q->reads);
		q->idle = 0;
		q->since = 0;
		q->turns = 0;
	}
	return n;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	if (count == 0) {
		pm_progress();
		return -FI_EAGAIN;
	}
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *to, uint64_t flags)
{
	struct pm_cq *q = (struct pm_cq *)fid;
	ssize_t n = -FI_EAGAIN;
	uint64_t head;

	lock(&q->lock);
	head = atomic_load_explicit(&q->head, memory_order_relaxed);
	if (head != atomic_load_explicit(&q->tail, memory_order_acquire)) {
		score_entry *e = &q->ring[head & q->mask];
		if (e->err) {
			to->op_context = (void *)(uintptr_t)e->context;
			to->flags = e->flags;
			to->len = e->length;
			to->buf = (void *)(uintptr_t)e->buffer;
			to->data = e->data;
			to->tag = e->tag;
			to->olen = 0;
			to->err = (int)e->err;
			to->prov_errno = (int)e->err;
			to->err_data_size = 0;
			atomic_store_explicit(&q->head, head + 1, memory_order_release);
			n = 1;
		}
	}
	unlock(&q->lock);
	return n;
}

/* A read without timeout shows the node that the rank is blocked: jobs whose ranks all are have a deadlock. */
static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *sources, const void *cond, int timeout)
{
	struct pm_cq *q = (struct pm_cq *)fid;
	int64_t end = end_of(timeout), left;

	for (;;) {
		score_watch w = {.word = {(uint64_t *)&q->tail, (uint64_t *)&q->signaled}, .seen = {atomic_load(&q->tail), 0}};
		ssize_t n = poll_once(q, buf, count, sources);
		if (n != 0)
			return n;
		if (atomic_exchange(&q->signaled, 0))
			return -FI_EAGAIN;
		left = left_of(end);
		if (left == 0)
			return -FI_EAGAIN;
		n = pm_wait(left, &w);
		if (n)
			return n;
	}
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	atomic_store(&((struct pm_cq *)fid)->signaled, 1);
	pm_progress(); /* a sleeping thread lets us in, and polls */
	return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int number, const void *data, char *buf, size_t length)
{
	const char *text = pm_strerror(number);

	if (buf && length) {
		strncpy(buf, text, length - 1);
		buf[length - 1] = 0;
	}
	return text;
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq), .read = cq_read, .readfrom = cq_readfrom, .readerr = cq_readerr, .sread = cq_sread,
	.sreadfrom = cq_sreadfrom, .signal = cq_signal, .strerror = cq_strerror,
};

static int cq_close(struct fid *fid)
{
	struct pm_cq *q = (struct pm_cq *)fid;

	if (q->users)
		return -FI_EBUSY;
	if (!pm_forked)
		score_cq_close(q->handle);
	pm_unuse(&q->uses);
	free(q->ring);
	free(q);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops), .close = cq_close, .bind = pm_no_bind, .control = pm_no_control, .ops_open = pm_no_open,
};

int pm_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
	struct pm_cq *q;
	size_t n = 1024;

	if (attr && (attr->wait_obj == FI_WAIT_FD || attr->wait_obj == FI_WAIT_MUTEX_COND || attr->wait_obj == FI_WAIT_SET ||
		     attr->wait_obj == FI_WAIT_POLLFD))
		return -FI_ENOSYS;
	while (attr && n < attr->size && n < 1 << 20)
		n *= 2;
	q = aligned_alloc(64, (sizeof *q + 63) & ~(size_t)63);
	if (!q)
		return -FI_ENOMEM;
	memset(q, 0, sizeof *q);
	q->ring = calloc(n, sizeof *q->ring);
	if (!q->ring) {
		free(q);
		return -FI_ENOMEM;
	}
	q->mask = n - 1;
	q->format = attr && attr->format != FI_CQ_FORMAT_UNSPEC ? attr->format : FI_CQ_FORMAT_CONTEXT;
	q->handle = score_cq_open(q->ring, n, (uint64_t *)&q->head, (uint64_t *)&q->tail, (uint32_t *)&q->more);
	pm_use(&q->uses, &((struct pm_domain *)domain)->users);
	q->cq.fid = (struct fid){.fclass = FI_CLASS_CQ, .context = context, .ops = &cq_fid_ops};
	q->cq.ops = &cq_ops;
	*cq = &q->cq;
	return 0;
}
