/* Looks for messages, claims, cancellations, messages that do not fit. */
#define _GNU_SOURCE
#include "consumer.h"
#include "rows.h"

#include <sys/resource.h>
#include <time.h>

#define LONG_MESSAGE 200000

static char in[LONG_MESSAGE], out[LONG_MESSAGE];

static ssize_t look(struct end *e, uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
	struct fi_msg_tagged m = {.addr = e->peer, .tag = tag, .ignore = ignore, .context = context};

	return fi_trecvmsg(e->ep, &m, flags);
}

/*
 * found looks until there is a message. Only the looks make progress: the queue is read when they have
 * put something there.
 */
static struct fi_cq_tagged_entry found(struct end *e, uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
	int64_t end = deadline();

	for (;;) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry error = {0};
		ssize_t n;

		expired(end, __FILE__, __LINE__);
		OK(look(e, tag, ignore, context, FI_PEEK | flags));
		n = fi_cq_read(e->cq, &entry, 1);
		if (n == 1) {
			CHECK(entry.op_context == context);
			return entry;
		}
		CHECK(n == -FI_EAVAIL); /* at once, and as an error */
		CHECK(fi_cq_readerr(e->cq, &error, 0) == 1 && error.err == FI_ENOMSG && error.op_context == context);
	}
}

void row_peek(void)
{
	struct setup s = {0};
	struct end e;
	struct fi_cq_err_entry error;
	struct fi_cq_tagged_entry entry;
	int context;

	open_end(&e, &s);
	OK(look(&e, 1, 0, &context, FI_PEEK));
	error = next_error(&e);
	CHECK(error.err == FI_ENOMSG && error.op_context == &context);
	fill(out, 5000, me, 1);
	POST(fi_tsenddata(e.ep, out, 5000, NULL, 42, e.peer, 0x70000001, out));
	CHECK(next(&e).op_context == out);
	for (int k = 0; k < 3; k++) { /* a look takes nothing away */
		entry = found(&e, 0x70000000, 0xf, &context, 0);
		CHECK(entry.len == 5000 && entry.tag == 0x70000001 && entry.data == 42 && entry.flags & FI_REMOTE_CQ_DATA);
	}
	OK(look(&e, 0x70000002, 0, &context, FI_PEEK)); /* of another tag */
	CHECK(next_error(&e).err == FI_ENOMSG);
	POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 0x70000001, 0, in));
	CHECK(next(&e).len == 5000 && filled(in, 5000, other, 1));
	OK(look(&e, 0x70000000, 0xf, &context, FI_PEEK));
	CHECK(next_error(&e).err == FI_ENOMSG);
	close_end(&e);
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What Open MPI's MPI_Probe does while nothing comes: it looks, reads what the look says, and makes progress. */
static void probe_in_vain(struct end *e)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};

	OK(look(e, 1, 0, &entry, FI_PEEK));
	CHECK(fi_cq_read(e->cq, &entry, 1) == -FI_EAVAIL);
	CHECK(fi_cq_readerr(e->cq, &error, 0) == 1 && error.err == FI_ENOMSG);
	CHECK(fi_cq_read(e->cq, &entry, 1) == -FI_EAGAIN);
	CHECK(fi_cq_read(e->cq, &entry, 1) == -FI_EAGAIN);
}

/* A program that waits so for long sleeps, as one that only reads its queue does. */
void row_probe_waits(void)
{
	enum { WINDOW_NS = 50000000 };
	struct setup s = {0};
	struct end e;
	int64_t end = deadline(), wall, cpu;

	open_end(&e, &s);
	do {
		expired(end, __FILE__, __LINE__);
		wall = ns_of(CLOCK_MONOTONIC);
		cpu = ns_of(CLOCK_THREAD_CPUTIME_ID);
		while (ns_of(CLOCK_MONOTONIC) - wall < WINDOW_NS)
			probe_in_vain(&e);
		wall = ns_of(CLOCK_MONOTONIC) - wall;
		cpu = ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
	} while (cpu > wall / 4);
	close_end(&e);
}

/*
 * A program that works between its reads, as one that synchronises a window that is its own alone,
 * may be kept asleep now and then, but not by each read.
 */
void row_works_between_reads(void)
{
	enum { READS = 20000, WORK_NS = 7000, MOST_SLEEPS = READS / 16 };
	struct setup s = {0};
	struct end e;
	struct fi_cq_tagged_entry entry;
	struct rusage before, after;

	open_end(&e, &s);
	getrusage(RUSAGE_THREAD, &before);
	for (int k = 0; k < READS; k++) {
		int64_t begin = ns_of(CLOCK_THREAD_CPUTIME_ID);
		while (ns_of(CLOCK_THREAD_CPUTIME_ID) - begin < WORK_NS)
			;
		CHECK(fi_cq_read(e.cq, &entry, 1) == -FI_EAGAIN);
	}
	getrusage(RUSAGE_THREAD, &after);
	CHECK(after.ru_nvcsw - before.ru_nvcsw < MOST_SLEEPS);
	barrier();
	close_end(&e);
}

/* A claimed message is received by its context, and by nobody else. */
void row_claim(void)
{
	static const size_t lengths[] = {100, LONG_MESSAGE};
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION, .rx_flags = FI_COMPLETION};
	struct end e;

	open_end(&e, &s);
	for (int k = 0; k < 2; k++) {
		size_t n = lengths[k];
		int first, second;
		struct iovec iov = {in, sizeof in};
		struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = 1, .addr = e.peer, .tag = 3, .context = &first};

		fill(out, n, me, k);
		POST(fi_tsend(e.ep, out, n, NULL, e.peer, 3, out));
		POST(fi_tinject(e.ep, "two", 3, e.peer, 3));
		POST(fi_tinject(e.ep, "three", 5, e.peer, 3));
		CHECK(found(&e, 3, 0, &first, FI_CLAIM).len == n);
		CHECK(found(&e, 3, 0, &second, FI_PEEK).len == 3); /* the next one */
		POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 3, 0, in));
		CHECK(next(&e).len == 3 && memcmp(in, "two", 3) == 0);
		POST(fi_trecvmsg(e.ep, &m, FI_CLAIM | FI_COMPLETION));
		CHECK(next(&e).len == n && filled(in, n, other, k));
		CHECK(found(&e, 3, 0, &second, FI_DISCARD).len == 5); /* seen, and thrown away */
		OK(look(&e, 3, 0, &second, FI_PEEK));
		CHECK(next_error(&e).err == FI_ENOMSG);
		barrier(); /* out is in use until the other rank has it */
	}
	close_end(&e);
}

void row_cancel(void)
{
	struct setup s = {0};
	struct end e;
	struct fi_cq_err_entry error;
	uint64_t first, second, none, value = 5;

	open_end(&e, &s);
	POST(fi_trecv(e.ep, &first, 8, NULL, e.peer, 1, 0, &first));
	POST(fi_trecv(e.ep, &second, 8, NULL, e.peer, 1, 0, &second));
	OK(fi_cancel(&e.ep->fid, &none)); /* there is no such operation */
	OK(fi_cancel(&e.ep->fid, &first));
	error = next_error(&e);
	CHECK(error.err == FI_ECANCELED && error.op_context == &first);
	barrier();
	POST(fi_tinject(e.ep, &value, 8, e.peer, 1));
	CHECK(next(&e).op_context == &second && second == 5);
	OK(fi_cancel(&e.ep->fid, &second)); /* it is over */
	nothing(&e);
	POST(fi_recv(e.ep, &first, 8, NULL, FI_ADDR_UNSPEC, &first));
	OK(fi_cancel(&e.ep->fid, &first));
	CHECK(next_error(&e).err == FI_ECANCELED);
	close_end(&e);
}

void row_truncation(void)
{
	static const size_t lengths[] = {100, 5000, LONG_MESSAGE};
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION, .rx_flags = FI_COMPLETION};
	struct end e;

	open_end(&e, &s);
	for (int k = 0; k < 3; k++) {
		struct fi_cq_err_entry error;

		fill(out, lengths[k], me, k);
		in[50] = 'i';
		POST(fi_trecv(e.ep, in, 50, NULL, e.peer, 1, 0, in));
		POST(fi_tsend(e.ep, out, lengths[k], NULL, e.peer, 1, out));
		error = next_error(&e);
		CHECK(error.err == FI_ETRUNC && error.op_context == in && error.tag == 1);
		CHECK(in[50] == 'i'); /* nothing behind the buffer */
		POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 2, 0, in));
		POST(fi_tinject(e.ep, "next", 4, e.peer, 2));
		CHECK(next(&e).len == 4 && memcmp(in, "next", 4) == 0);
		barrier();
	}
	close_end(&e);
}

/* FI_DELIVERY_COMPLETE of messages, by the endpoint's op_flags as btl/ofi asks for it, and by a call. */
void row_delivery_message(void)
{
	struct setup s = {.tx_flags = FI_DELIVERY_COMPLETE};
	struct end e;
	struct fi_cq_tagged_entry rest;

	open_end(&e, &s);
	for (int k = 0; k < 8; k++) {
		size_t n = (size_t[]){8, 4096, 65536, LONG_MESSAGE}[k / 2];
		struct iovec iov = {out, n};
		struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = e.peer, .context = out};

		fill(out, n, me, k);
		if (k % 2) { /* the receive is there before */
			POST(fi_recv(e.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
			barrier();
			POST(fi_send(e.ep, out, n, NULL, e.peer, out));
		} else {
			POST(fi_sendmsg(e.ep, &m, FI_DELIVERY_COMPLETE | FI_COMPLETION));
			barrier();
			nothing(&e); /* no receive has it */
			barrier();
			POST(fi_recv(e.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
		}
		CHECK(pick(&e, in, &rest).len == n && rest.op_context == out && rest.len == n && filled(in, n, other, k));
		barrier();
	}
	close_end(&e);
}

/* A synchronous send completes when a receive has the message, not before. */
void row_nowhere(void)
{
	struct setup s = {0};
	struct end e;
	struct iovec iov = {.iov_len = 8};
	struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = 1, .tag = 9};

	open_end(&e, &s);
	m.addr = e.peer;
	CHECK(fi_tsend(e.ep, NULL, 8, NULL, e.peer, 1, &e) == -FI_EFAULT);
	CHECK(fi_tinject(e.ep, NULL, 8, e.peer, 1) == -FI_EFAULT);
	CHECK(fi_tsendmsg(e.ep, &m, 0) == -FI_EFAULT);
	CHECK(fi_send(e.ep, NULL, 8, NULL, e.peer, &e) == -FI_EFAULT);
	CHECK(fi_trecv(e.ep, NULL, 8, NULL, e.peer, 1, 0, &e) == -FI_EFAULT);
	CHECK(fi_recv(e.ep, NULL, 8, NULL, FI_ADDR_UNSPEC, &e) == -FI_EFAULT);
	CHECK(fi_write(e.ep, NULL, 8, NULL, e.peer, 0, 1, &e) == -FI_EFAULT);
	CHECK(fi_read(e.ep, NULL, 8, NULL, e.peer, 0, 1, &e) == -FI_EFAULT);
	/* A look needs no buffer, and what is empty none either. */
	OK(fi_trecvmsg(e.ep, &m, FI_PEEK));
	CHECK(next_error(&e).err == FI_ENOMSG);
	POST(fi_trecv(e.ep, NULL, 0, NULL, e.peer, 1, 0, in));
	POST(fi_tsend(e.ep, NULL, 0, NULL, e.peer, 1, out));
	CHECK(next(&e).len == 0);
	CHECK(next(&e).len == 0);
	nothing(&e);
	close_end(&e);
}

void row_match_complete(void)
{
	struct setup s = {0};
	struct end e;
	struct fi_cq_tagged_entry rest;

	open_end(&e, &s);
	for (int k = 0; k < 2; k++) {
		size_t n = k ? LONG_MESSAGE : 8;
		struct iovec iov = {out, n};
		struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = 1, .addr = e.peer, .tag = 1, .context = out};

		fill(out, n, me, k);
		POST(fi_tsendmsg(e.ep, &m, FI_MATCH_COMPLETE | FI_COMPLETION));
		nothing(&e);
		barrier();
		nothing(&e);
		barrier();
		POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 1, 0, in));
		CHECK(pick(&e, in, &rest).len == n && rest.op_context == out && filled(in, n, other, k));
	}
	close_end(&e);
}
