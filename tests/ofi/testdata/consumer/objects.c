/* Address vectors, queues, counters, and what the provider has none of. */
#include "consumer.h"
#include "rows.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void row_addresses(void)
{
	struct setup s = {0};
	struct end e;
	char name[NAME_BYTES], names[2][NAME_BYTES], text[100], small[10];
	fi_addr_t to[2];
	size_t n = sizeof small;

	open_end(&e, &s);
	CHECK(fi_getname(&e.ep->fid, small, &n) == -FI_ETOOSMALL && n == NAME_BYTES);
	OK(fi_getname(&e.ep->fid, name, &n));
	n = NAME_BYTES;
	OK(fi_av_lookup(e.av, e.self, names[0], &n));
	CHECK(n == NAME_BYTES && memcmp(names[0], name, n) == 0);
	OK(fi_av_lookup(e.av, e.peer, names[1], &n));
	CHECK(memcmp(names[1], name, n) != 0);
	n = sizeof text;
	CHECK(fi_av_straddr(e.av, name, text, &n) == text && n == strlen(text) + 1 && n > 1);
	CHECK(fi_av_insert(e.av, names, 2, to, 0, NULL) == 2 && to[0] != to[1]); /* several at once */
	memset(name, 0xa5, sizeof name);
	CHECK(fi_av_insert(e.av, name, 1, to, 0, NULL) == 0 && to[0] == FI_ADDR_NOTAVAIL); /* nobody's name */
	OK(fi_av_remove(e.av, &to[1], 1, 0));
	CHECK(fi_av_lookup(e.av, to[1], names[0], &n) != 0);
	CHECK(fi_tsend(e.ep, name, 1, NULL, to[1], 1, NULL) == -FI_EINVAL);
	close_end(&e);
}

/* MPICH asks for a vector that processes share, and uses what it gets. */
void row_named_av(void)
{
	static const enum fi_av_type kinds[] = {FI_AV_MAP, FI_AV_TABLE, FI_AV_UNSPEC};
	struct setup s = {0};
	struct end e;
	struct fid_av *av;

	open_end(&e, &s);
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .name = "FI_NAMED_AV_0", .flags = FI_READ};
	CHECK(fi_av_open(e.domain, &attr, &av, NULL) != 0);
	for (int k = 0; k < 3; k++) {
		attr = (struct fi_av_attr){.type = kinds[k], .count = 64};
		OK(fi_av_open(e.domain, &attr, &av, NULL));
		OK(fi_close(&av->fid));
	}
	close_end(&e);
}

void row_left_out(void)
{
	struct setup s = {0};
	struct end e;
	struct fid_ep *ep;
	struct fid_stx *stx;
	struct fid_poll *poll;
	struct fid_pep *pep;
	struct fid_eq *eq;
	struct fi_poll_attr poll_attr = {0};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	uint32_t event;
	char buf[64];

	open_end(&e, &s);
	CHECK(fi_scalable_ep(e.domain, e.info, &ep, NULL) < 0);
	CHECK(fi_stx_context(e.domain, NULL, &stx, NULL) < 0);
	CHECK(fi_srx_context(e.domain, NULL, &ep, NULL) < 0);
	CHECK(fi_poll_open(e.domain, &poll_attr, &poll) < 0);
	CHECK(fi_passive_ep(e.fabric, e.info, &pep, NULL) < 0);
	CHECK(fi_connect(e.ep, buf, NULL, 0) < 0);
	OK(fi_eq_open(e.fabric, &eq_attr, &eq, NULL)); /* some open one; nothing ever happens there */
	CHECK(fi_eq_read(eq, &event, buf, sizeof buf, 0) == -FI_EAGAIN);
	OK(fi_close(&eq->fid));
	close_end(&e);
}

/* What the program writes, by each way to wait for it. */
void row_event_queue(void)
{
	struct setup s = {0};
	struct end e;
	struct fid_eq *eq;
	struct fi_eq_attr attr = {.flags = FI_WRITE, .wait_obj = FI_WAIT_FD};
	struct fi_eq_entry in, out = {.context = &in, .data = 7};
	struct fid *fids[1];
	uint32_t event;
	struct pollfd readable = {.events = POLLIN};

	open_end(&e, &s);
	OK(fi_eq_open(e.fabric, &attr, &eq, NULL));
	OK(fi_control(&eq->fid, FI_GETWAIT, &readable.fd));
	fids[0] = &eq->fid;
	CHECK(fi_eq_read(eq, &event, &in, sizeof in, 0) == -FI_EAGAIN && fi_trywait(e.fabric, fids, 1) == 0);
	CHECK(fi_eq_sread(eq, &event, &in, sizeof in, 10, 0) == -FI_EAGAIN && poll(&readable, 1, 0) == 0);
	CHECK(fi_eq_write(eq, FI_NOTIFY, &out, sizeof out, 0) == sizeof out);
	CHECK(fi_trywait(e.fabric, fids, 1) == -FI_EAGAIN && poll(&readable, 1, 0) == 1);
	CHECK(fi_eq_read(eq, &event, &in, sizeof in - 1, 0) == -FI_ETOOSMALL);
	CHECK(fi_eq_sread(eq, &event, &in, sizeof in, -1, FI_PEEK) == sizeof in && event == FI_NOTIFY && in.data == 7);
	CHECK(fi_eq_read(eq, &event, &in, sizeof in, 0) == sizeof in && in.context == &in && poll(&readable, 1, 0) == 0);
	OK(fi_close(&eq->fid));
	close_end(&e);
}

/* A vector with FI_EVENT tells of each name that is none, then of how many others there were. */
void row_av_events(void)
{
	struct setup s = {0};
	struct end e;
	struct fid_eq *eq;
	struct fid_av *av;
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
	struct fi_eq_entry entry;
	struct fi_eq_err_entry failed;
	char names[3][NAME_BYTES] = {0};
	size_t n = NAME_BYTES;
	fi_addr_t to[3];
	uint32_t event;

	open_end(&e, &s);
	OK(fi_getname(&e.ep->fid, names[0], &n));
	memcpy(names[2], names[0], n);
	OK(fi_av_open(e.domain, &attr, &av, NULL));
	CHECK(fi_av_insert(av, names, 3, to, 0, &e) == -FI_ENOEQ);
	OK(fi_eq_open(e.fabric, &eq_attr, &eq, NULL));
	OK(fi_av_bind(av, &eq->fid, 0));
	CHECK(fi_close(&eq->fid) == -FI_EBUSY);
	OK(fi_av_insert(av, names, 3, to, 0, &e));
	CHECK(fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0) == -FI_EAVAIL);
	CHECK(fi_eq_readerr(eq, &failed, 0) == sizeof failed && failed.data == 1 && failed.err == FI_EINVAL && failed.context == &e);
	CHECK(fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0) == sizeof entry && event == FI_AV_COMPLETE);
	CHECK(entry.fid == &av->fid && entry.context == &e && entry.data == 2 && to[1] == FI_ADDR_NOTAVAIL && to[0] != to[2]);
	OK(fi_close(&av->fid));
	OK(fi_close(&eq->fid));
	close_end(&e);
}

/* What others use cannot be closed. */
void row_busy(void)
{
	struct setup s = {0};
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *sends, *writes;
	struct fid_mr *mr;
	struct end e;
	char memory[8];

	open_end(&e, &s);
	OK(fi_cntr_open(e.domain, &attr, &sends, NULL));
	OK(fi_cntr_open(e.domain, &attr, &writes, NULL));
	OK(fi_ep_bind(e.ep, &sends->fid, FI_SEND));
	OK(fi_mr_reg(e.domain, memory, sizeof memory, FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL));
	OK(fi_mr_bind(mr, &writes->fid, FI_REMOTE_WRITE));
	struct fid *used[] = {&e.domain->fid, &e.cq->fid, &e.av->fid, &sends->fid, &writes->fid};
	for (int k = 0; k < 5; k++)
		CHECK(fi_close(used[k]) == -FI_EBUSY);
	OK(fi_close(&mr->fid));
	OK(fi_close(&writes->fid));
	close_endpoint(&e);
	OK(fi_close(&sends->fid));
	close_end(&e);
}

/* A rank that has closed all it had opens it again: sessions of MPI, and fabtests. */
void row_reopen(void)
{
	enum { N = 3 };
	struct setup s = {0};
	char in[3000], out[3000];

	for (int k = 0; k < N; k++) {
		struct end e;
		struct fi_cq_tagged_entry rest;

		reopen();
		open_end(&e, &s);
		POST(fi_tsend(e.ep, out, 8, NULL, e.peer, 9, out)); /* nobody takes it: the next end must not get it */
		next(&e);
		fill(out, sizeof out, me, k);
		POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 10, 0, in));
		POST(fi_tsend(e.ep, out, sizeof out, NULL, e.peer, 10, out));
		pick(&e, in, &rest);
		CHECK(filled(in, sizeof in, other, k));
		close_end(&e);
		open_end(&e, &s);
		POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 9, 0, in));
		nothing(&e);
		barrier();
		nothing(&e);
		close_end(&e);
	}
}

/* More endpoints than any library but OpenSHMEM takes, which has one for each context. */
void row_many_endpoints(void)
{
	enum { N = 100 };
	struct setup s = {0};
	struct fid_ep *ep[N];
	struct end e;

	open_end(&e, &s);
	for (int i = 0; i < N; i++)
		OK(fi_endpoint(e.domain, e.info, &ep[i], NULL));
	for (int i = 0; i < N; i++)
		OK(fi_close(&ep[i]->fid));
	close_end(&e);
}

/*
 * One thread waits for what another one handles, which then is silent. The library looks at the clock
 * between its look at the counter and its wait: there the other thread handles the message.
 */
enum { WAITS = 20, SLOW_NS = 20000000, LATE_NS = 30000000 };

static _Thread_local bool slow;

static void sleep_for(long nanoseconds) { nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL); }

/* The library's, too: the program is linked with -rdynamic. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (slow)
		sleep_for(SLOW_NS);
	return (int)syscall(SYS_clock_gettime, clock, t);
}

struct handler {
	struct end *e;
	struct fid_cntr *counter;
	_Atomic uint64_t turn;
};

static void *handle(void *arg)
{
	struct handler *h = arg;

	for (uint64_t turn = 1; turn <= WAITS; turn++) {
		int64_t end = deadline();
		while (atomic_load(&h->turn) < turn)
			expired(end, __FILE__, __LINE__);
		sleep_for(LATE_NS);
		POST(fi_tinject(h->e->ep, "x", 1, h->e->peer, turn));
		while (fi_cntr_read(h->counter) < turn)
			expired(end, __FILE__, __LINE__);
	}
	return NULL;
}

void row_waits(void)
{
	struct setup s = {.threading = FI_THREAD_SAFE, .cq_flags = FI_SELECTIVE_COMPLETION};
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	struct handler h = {0};
	struct end e;
	pthread_t thread;
	char in;

	open_end(&e, &s);
	h.e = &e;
	OK(fi_cntr_open(e.domain, &attr, &h.counter, NULL));
	OK(fi_ep_bind(e.ep, &h.counter->fid, FI_RECV));
	CHECK(pthread_create(&thread, NULL, handle, &h) == 0);
	for (uint64_t turn = 1; turn <= WAITS; turn++) {
		POST(fi_trecv(e.ep, &in, 1, NULL, e.peer, turn, 0, NULL));
		barrier();
		atomic_store(&h.turn, turn);
		slow = true;
		OK(fi_cntr_wait(h.counter, turn, 5000));
		slow = false;
	}
	CHECK(pthread_join(thread, NULL) == 0);
	close_endpoint(&e);
	OK(fi_close(&h.counter->fid));
	close_end(&e);
}

/* GASNet: three endpoints of a process, one queue for what they send, two for what they receive. */
void row_endpoints(void)
{
	enum { N = 3 };
	struct setup s = {0};
	struct end e;
	struct fid_ep *ep[N];
	struct fid_cq *rx[N];
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_DATA};
	struct fi_cq_data_entry entry;
	char mine[N][NAME_BYTES], theirs[N][NAME_BYTES], out[N][100], in[N][100];
	fi_addr_t to[N];

	open_end(&e, &s);
	for (int i = 0; i < N; i++) {
		size_t n = NAME_BYTES;
		OK(fi_cq_open(e.domain, &attr, &rx[i], NULL));
		OK(fi_endpoint(e.domain, e.info, &ep[i], NULL));
		OK(fi_ep_bind(ep[i], &e.cq->fid, FI_TRANSMIT));
		OK(fi_ep_bind(ep[i], &rx[i]->fid, FI_RECV));
		OK(fi_ep_bind(ep[i], &e.av->fid, 0));
		OK(fi_enable(ep[i]));
		OK(fi_getname(&ep[i]->fid, mine[i], &n));
	}
	swap(mine, theirs, sizeof mine);
	CHECK(fi_av_insert(e.av, theirs, N, to, 0, NULL) == N);
	for (int i = 0; i < N; i++)
		POST(fi_recv(ep[i], in[i], sizeof in[i], NULL, FI_ADDR_UNSPEC, in[i]));
	for (int i = 0; i < N; i++) {
		fill(out[i], sizeof out[i], me, i);
		POST(fi_send(ep[0], out[i], sizeof out[i], NULL, to[i], out[i])); /* from one to each */
	}
	for (int i = 0; i < N; i++) {
		UNTIL(fi_cq_read(rx[i], &entry, 1) == 1);
		CHECK(entry.op_context == in[i] && entry.len == sizeof in[i] && filled(in[i], sizeof in[i], other, i));
		next(&e);
	}
	nothing(&e);
	barrier();
	for (int i = 0; i < N; i++) {
		OK(fi_close(&ep[i]->fid));
		OK(fi_close(&rx[i]->fid));
	}
	close_end(&e);
}

/* Queues on which a program can sleep; there are none with a descriptor. */
void row_wait_objects(void)
{
	struct setup s = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_cq_attr fd = {.wait_obj = FI_WAIT_FD};
	struct fi_cq_tagged_entry entry;
	struct fid_cq *cq;
	struct end e;
	char in = 0, out = 'o';

	open_end(&e, &s);
	CHECK(fi_cq_open(e.domain, &fd, &cq, NULL) < 0);
	CHECK(fi_cq_sread(e.cq, &entry, 1, NULL, 10) == -FI_EAGAIN); /* nothing comes in time */
	OK(fi_cq_signal(e.cq));
	CHECK(fi_cq_sread(e.cq, &entry, 1, NULL, -1) == -FI_EAGAIN); /* the signal ends it */
	POST(fi_trecv(e.ep, &in, 1, NULL, e.peer, 1, 0, &in));
	POST(fi_tsend(e.ep, &out, 1, NULL, e.peer, 1, &out));
	for (int i = 0; i < 2; i++)
		CHECK(fi_cq_sread(e.cq, &entry, 1, NULL, 20000) == 1);
	CHECK(in == 'o');
	close_end(&e);
}

void row_cq_formats(void)
{
	static const enum fi_cq_format kinds[] = {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED};
	char in[64], out[64];

	for (int k = 0; k < 4; k++) {
		struct setup s = {.format = kinds[k], .cq_flags = FI_SELECTIVE_COMPLETION, .rx_flags = FI_COMPLETION};
		struct fi_cq_tagged_entry entry, untouched;
		struct end e;

		open_end(&e, &s);
		memset(&untouched, 0x55, sizeof untouched);
		entry = untouched;
		fill(out, 50, me, k);
		POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 70 + k, 0, in));
		POST(fi_tinjectdata(e.ep, out, 50, 900 + k, e.peer, 70 + k));
		UNTIL(fi_cq_read(e.cq, &entry, 1) == 1);
		CHECK(entry.op_context == in && filled(in, 50, other, k));
		CHECK(k >= 1 ? entry.len == 50 && (entry.flags & (FI_TAGGED | FI_RECV)) == (FI_TAGGED | FI_RECV) : entry.len == untouched.len);
		CHECK(k >= 2 ? entry.data == 900u + k && entry.flags & FI_REMOTE_CQ_DATA : entry.data == untouched.data);
		CHECK(k >= 3 ? entry.tag == 70u + k : entry.tag == untouched.tag);
		close_end(&e);
	}
}

/* Open MPI opens its queue with 100 entries, and has more operations under way. */
void row_small_cq(void)
{
	enum { N = 3000 };
	struct setup s = {.cq_size = 100};
	struct end e;
	static uint64_t in[N], out[N];
	static bool seen[2 * N];
	struct fi_cq_tagged_entry many[64];
	int got = 0;

	open_end(&e, &s);
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < N; i++)
		POST(fi_trecv(e.ep, &in[i], sizeof in[i], NULL, e.peer, i, 0, &in[i]));
	for (int i = 0; i < N; i++) {
		out[i] = (uint64_t)i * 3 + me;
		POST(fi_tsend(e.ep, &out[i], sizeof out[i], NULL, e.peer, i, &out[i]));
	}
	for (int i = 0; i < 2; i++)
		barrier(); /* now more have completed than the queue has places, and none was read */
	while (got < 2 * N) {
		ssize_t n;
		UNTIL((n = fi_cq_read(e.cq, many, 64)) != -FI_EAGAIN);
		CHECK(n > 0);
		for (ssize_t k = 0; k < n; k++, got++) {
			uint64_t *p = many[k].op_context;
			size_t at = p >= in && p < in + N ? (size_t)(p - in) : N + (size_t)(p - out);
			CHECK(at < 2 * N && !seen[at]);
			seen[at] = true;
		}
	}
	for (int i = 0; i < N; i++)
		CHECK(in[i] == (uint64_t)i * 3 + other);
	nothing(&e);
	close_end(&e);
}

/* With FI_SELECTIVE_COMPLETION what succeeds completes only if it asks for it, or the endpoint does. */
void row_selective(void)
{
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION}, always = {.cq_flags = FI_SELECTIVE_COMPLETION, .tx_flags = FI_COMPLETION};
	struct end e;
	uint64_t in[4], out[4] = {1, 2, 3, 4};
	struct iovec iov = {.iov_len = 8};
	struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = 1};

	open_end(&e, &s);
	m.addr = e.peer;
	POST(fi_trecv(e.ep, &in[0], 8, NULL, e.peer, 1, 0, &in[0])); /* silent */
	iov.iov_base = &in[1], m.context = &in[1], m.tag = 2;
	POST(fi_trecvmsg(e.ep, &m, FI_COMPLETION));
	POST(fi_tsend(e.ep, &out[0], 8, NULL, e.peer, 1, &out[0])); /* silent */
	iov.iov_base = &out[1], m.context = &out[1], m.tag = 2;
	POST(fi_tsendmsg(e.ep, &m, 0)); /* silent */
	CHECK(next(&e).op_context == &in[1] && in[0] == 1 && in[1] == 2); /* in order */
	POST(fi_trecv(e.ep, &in[2], 4, NULL, e.peer, 3, 0, &in[2]));
	POST(fi_tsend(e.ep, &out[2], 8, NULL, e.peer, 3, &out[2]));
	CHECK(next_error(&e).op_context == &in[2]); /* too long: errors are never silent */
	nothing(&e);
	close_end(&e);

	open_end(&e, &always);
	m.addr = e.peer;
	iov.iov_base = &in[0], m.context = &in[0], m.tag = 4;
	POST(fi_trecvmsg(e.ep, &m, FI_COMPLETION));
	POST(fi_tsend(e.ep, &out[0], 8, NULL, e.peer, 4, &out[0])); /* the endpoint asks */
	CHECK(pick(&e, &out[0], (struct fi_cq_tagged_entry[1]){}).flags & FI_SEND);
	iov.iov_base = &in[1], m.context = &in[1], m.tag = 5;
	POST(fi_trecvmsg(e.ep, &m, FI_COMPLETION));
	iov.iov_base = &out[1], m.context = &out[1], m.tag = 5;
	POST(fi_tsendmsg(e.ep, &m, 0)); /* this call asks for itself, and does not want one */
	CHECK(next(&e).op_context == &in[1]);
	nothing(&e);
	close_end(&e);
}

/* MPICH and OpenSHMEM count what completes. */
void row_counters(void)
{
	enum { N = 20 };
	static const enum fi_wait_obj waits[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_NONE, FI_WAIT_UNSPEC};
	static const uint64_t flags[] = {FI_SEND, FI_RECV, FI_WRITE, FI_READ};
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION};
	struct fid_cntr *c[4];
	struct window w;
	struct end e;
	uint64_t memory[2] = {0}, value = 77, in[N], got;

	open_end(&e, &s);
	for (int k = 0; k < 4; k++) {
		struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = waits[k]};
		OK(fi_cntr_open(e.domain, &attr, &c[k], NULL));
		OK(fi_ep_bind(e.ep, &c[k]->fid, flags[k]));
	}
	open_window(&e, &w, memory, sizeof memory, FI_REMOTE_WRITE | FI_REMOTE_READ, 5);
	for (int i = 0; i < N; i++)
		POST(fi_trecv(e.ep, &in[i], 8, NULL, e.peer, i, 0, NULL));
	for (int i = 0; i < N; i++) {
		POST(i % 2 ? fi_tsend(e.ep, &value, 8, NULL, e.peer, i, NULL) : fi_tinject(e.ep, &value, 8, e.peer, i));
		POST(fi_write(e.ep, &value, 8, NULL, e.peer, w.at, w.key, NULL));
		POST(fi_read(e.ep, &got, 8, NULL, e.peer, w.at, w.key, NULL));
	}
	for (int k = 0; k < 4; k++) {
		OK(fi_cntr_wait(c[k], N, 20000));
		CHECK(fi_cntr_read(c[k]) == N && fi_cntr_readerr(c[k]) == 0);
	}
	CHECK(got == 77);
	CHECK(fi_cntr_wait(c[0], N + 1, 10) == -FI_ETIMEDOUT);
	POST(fi_read(e.ep, &got, 8, NULL, e.peer, w.at, w.key + 1, NULL)); /* fails, and is counted apart */
	CHECK(next_error(&e).err != 0);
	CHECK(fi_cntr_read(c[3]) == N && fi_cntr_readerr(c[3]) == 1);
	OK(fi_cntr_add(c[0], 5));
	CHECK(fi_cntr_read(c[0]) == N + 5);
	OK(fi_cntr_set(c[0], 0));
	CHECK(fi_cntr_read(c[0]) == 0);
	close_window(&w);
	close_endpoint(&e);
	for (int k = 0; k < 4; k++)
		OK(fi_close(&c[k]->fid));
	close_end(&e);
}
