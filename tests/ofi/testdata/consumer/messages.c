/* Messages and tagged messages. */
#include "consumer.h"
#include "rows.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define LONG_MESSAGE (4 << 20)

static char *buffer(size_t n)
{
	char *p = malloc(n ? n : 1);

	CHECK(p);
	return p;
}

/* All lengths, from nothing at NULL to what goes by rendezvous, expected and not. */
void row_tagged(void)
{
	static const size_t lengths[] = {0, 1, 100, 4096, 5000, 65536, 300000, LONG_MESSAGE};
	struct setup s = {0};
	struct end e;

	open_end(&e, &s);
	for (int k = 0; k < 16; k++) {
		size_t n = lengths[k / 2];
		char *in = n ? buffer(n) : NULL, *out = n ? buffer(n) : NULL;
		struct iovec iov = {out, n};
		struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = n ? 1 : 0, .addr = e.peer, .tag = 100 + k, .context = &iov};
		struct fi_cq_tagged_entry entry, rest;

		if (n)
			fill(out, n, me, k);
		if (k % 2 == 0) {
			POST(fi_trecv(e.ep, in, n, NULL, e.peer, 100 + k, 0, &in));
			POST(fi_tsend(e.ep, out, n, NULL, e.peer, 100 + k, &iov));
		} else { /* the message is there before its receive */
			POST(fi_tsendmsg(e.ep, &m, FI_COMPLETION));
			barrier();
			POST(fi_trecv(e.ep, in, n, NULL, e.peer, 100 + k, 0, &in));
		}
		entry = pick(&e, &in, &rest);
		CHECK(entry.len == n && entry.tag == 100u + k && (entry.flags & (FI_TAGGED | FI_RECV)) == (FI_TAGGED | FI_RECV));
		CHECK(rest.op_context == &iov && (rest.flags & (FI_TAGGED | FI_SEND)) == (FI_TAGGED | FI_SEND));
		CHECK(!n || filled(in, n, other, k));
		free(in), free(out);
	}
	close_end(&e);
}

/* All 64 bits of tags count, but those that a receive ignores; messages that match are taken in order. */
void row_tag_bits(void)
{
	static const uint64_t mpich = 0x007000007fffffff;
	struct setup s = {0};
	struct end e;
	uint64_t in, out;

	open_end(&e, &s);
	for (int bit = 0; bit < 64; bit++) {
		out = (uint64_t)bit;
		POST(fi_tinject(e.ep, &out, 8, e.peer, 1ULL << bit));
	}
	for (int bit = 63; bit >= 0; bit--) { /* each is found by its own bit */
		POST(fi_trecv(e.ep, &in, 8, NULL, e.peer, 1ULL << bit, 0, &in));
		CHECK(next(&e).tag == 1ULL << bit && in == (uint64_t)bit);
	}
	for (uint64_t i = 0; i < 10; i++)
		POST(fi_tinject(e.ep, &i, 8, e.peer, 0xabcd000000000000u | i << 3));
	for (uint64_t i = 0; i < 10; i++) { /* any of them: in order */
		POST(fi_trecv(e.ep, &in, 8, NULL, e.peer, 0xabcd000000000000u, mpich, &in));
		CHECK(next(&e).tag == (0xabcd000000000000u | i << 3) && in == i);
	}
	nothing(&e);
	close_end(&e);
}

/* Messages without tags are apart from those with. */
void row_message(void)
{
	struct setup s = {0};
	struct end e;
	static char out[70000], in[70000], tagged[8];
	struct fi_cq_tagged_entry entry, rest;
	fi_addr_t source = FI_ADDR_UNSPEC;

	open_end(&e, &s);
	for (int k = 0; k < 8; k++) {
		size_t n = k % 2 ? sizeof out : 64;
		struct iovec iov = {out, n}, to = {in, sizeof in};
		struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = e.peer, .context = out};
		struct fi_msg r = {.msg_iov = &to, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in};

		fill(out, n, me, k);
		POST(fi_trecv(e.ep, tagged, sizeof tagged, NULL, e.peer, 0, ~0ULL, tagged)); /* takes none of these */
		POST(k % 4 < 2 ? fi_recv(e.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in) : fi_recvmsg(e.ep, &r, FI_COMPLETION));
		POST(k % 4 < 2 ? fi_send(e.ep, out, n, NULL, e.peer, out) : fi_sendmsg(e.ep, &m, FI_COMPLETION));
		entry = pick(&e, in, &rest);
		CHECK(entry.len == n && (entry.flags & (FI_MSG | FI_RECV)) == (FI_MSG | FI_RECV) && !(entry.flags & FI_TAGGED));
		CHECK(rest.op_context == out && rest.flags & FI_MSG && filled(in, n, other, k));
		OK(fi_cancel(&e.ep->fid, tagged));
		CHECK(next_error(&e).op_context == tagged);
	}
	barrier();
	POST(fi_recv(e.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	POST(fi_inject(e.ep, out, 8, e.peer));
	entry = next_from(&e, &source); /* who sent it */
	CHECK(entry.op_context == in && source == e.peer);
	close_end(&e);
}

void row_directed(void)
{
	struct setup s = {0};
	struct end e;
	uint64_t in[4], out = 10 + me;
	struct fi_cq_tagged_entry entry;

	open_end(&e, &s);
	POST(fi_trecv(e.ep, &in[0], 8, NULL, e.self, 1, 0, &in[0]));
	POST(fi_trecv(e.ep, &in[1], 8, NULL, e.peer, 1, 0, &in[1]));
	POST(fi_recv(e.ep, &in[2], 8, NULL, e.self, &in[2]));
	POST(fi_recv(e.ep, &in[3], 8, NULL, e.peer, &in[3]));
	POST(fi_tinject(e.ep, &out, 8, e.peer, 1));
	entry = next(&e);
	CHECK(entry.op_context == &in[1] && in[1] == 10u + other);
	POST(fi_inject(e.ep, &out, 8, e.peer));
	entry = next(&e);
	CHECK(entry.op_context == &in[3] && in[3] == 10u + other);
	nothing(&e); /* what only this rank itself may send is still awaited */
	POST(fi_tinject(e.ep, &out, 8, e.self, 1));
	CHECK(next(&e).op_context == &in[0] && in[0] == out);
	POST(fi_inject(e.ep, &out, 8, e.self));
	CHECK(next(&e).op_context == &in[2] && in[2] == out);
	close_end(&e);
}

/* fi_pingpong names any source, and did not ask for FI_DIRECTED_RECV. */
void row_undirected(void)
{
	struct setup s = {.caps = FI_MSG | FI_TAGGED};
	struct end e;
	uint64_t in[2], out = 3;

	open_end(&e, &s);
	POST(fi_recv(e.ep, &in[0], 8, NULL, 0x123456789, &in[0]));
	POST(fi_trecv(e.ep, &in[1], 8, NULL, e.self, 1, 0, &in[1]));
	POST(fi_inject(e.ep, &out, 8, e.peer));
	CHECK(next(&e).op_context == &in[0]);
	POST(fi_tinject(e.ep, &out, 8, e.peer, 1));
	CHECK(next(&e).op_context == &in[1]);
	close_end(&e);
}

/* MPICH and GASNet: large buffers for many messages, of which one at a time is filled. */
void row_multi_recv(void)
{
	enum { BUFFERS = 4, BYTES = 4096, LEAST = 512, LENGTH = 300, N = 60 };
	struct setup s = {.format = FI_CQ_FORMAT_DATA, .cq_flags = FI_SELECTIVE_COMPLETION};
	size_t least = LEAST, got = sizeof least;
	static char memory[BUFFERS][BYTES];
	char out[LENGTH];
	int posted = 0, received = 0, sent = 0, given_back = 0;
	int64_t end;
	struct end e;

	open_end(&e, &s);
	OK(fi_setopt(&e.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
	OK(fi_getopt(&e.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &got));
	CHECK(least == LEAST && got == sizeof least);
	for (; posted < BUFFERS; posted++) {
		struct iovec iov = {memory[posted], BYTES};
		struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = memory[posted]};
		POST(fi_recvmsg(e.ep, &m, FI_MULTI_RECV | FI_COMPLETION));
	}
	barrier();
	for (end = deadline(); received < N || sent < N;) {
		struct fi_cq_data_entry entry;
		ssize_t n;

		expired(end, __FILE__, __LINE__);
		if (sent < N) {
			fill(out, LENGTH, me, sent);
			if (fi_inject(e.ep, out, LENGTH, e.peer) == 0)
				sent++;
		}
		if ((n = fi_cq_read(e.cq, &entry, 1)) == -FI_EAGAIN)
			continue;
		CHECK(n == 1);
		char *at = entry.op_context;
		if (entry.flags & FI_RECV && entry.len) {
			CHECK(entry.len == LENGTH && (char *)entry.buf >= at && (char *)entry.buf + LENGTH <= at + BYTES);
			CHECK(filled(entry.buf, LENGTH, other, received++));
		}
		if (entry.flags & FI_MULTI_RECV) { /* the buffer is the consumer's again, which gives it once more */
			struct iovec iov = {at, BYTES};
			struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = at};
			given_back++;
			POST(fi_recvmsg(e.ep, &m, FI_MULTI_RECV | FI_COMPLETION));
		}
	}
	CHECK(given_back == N / ((BYTES - LEAST) / LENGTH + 1)); /* each is used until less than LEAST is left */
	close_end(&e);
}

void row_cq_data(void)
{
	static const uint64_t datas[] = {0, 1, 0xfffffffeu, 0x8123456789abcdefu};
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION, .rx_flags = FI_COMPLETION};
	struct end e;
	static char out[20000], in[20000];

	open_end(&e, &s);
	for (int k = 0; k < 16; k++) {
		uint64_t data = datas[k / 4];
		size_t n = k % 4 < 2 ? 32 : k / 4 == 3 ? sizeof out : 2000;
		struct fi_cq_tagged_entry entry;

		fill(out, n, me, k);
		POST(k % 2 ? fi_trecv(e.ep, in, sizeof in, NULL, e.peer, k, 0, in) : fi_recv(e.ep, in, sizeof in, NULL, e.peer, in));
		switch (k % 4) {
		case 0:
			POST(fi_injectdata(e.ep, out, n, data, e.peer));
			break;
		case 1:
			POST(fi_tinjectdata(e.ep, out, n, data, e.peer, k));
			break;
		case 2:
			POST(fi_senddata(e.ep, out, n, NULL, data, e.peer, out));
			break;
		default:
			POST(fi_tsenddata(e.ep, out, n, NULL, data, e.peer, k, out));
		}
		entry = next(&e);
		CHECK(entry.op_context == in && entry.flags & FI_REMOTE_CQ_DATA && entry.data == data && entry.len == n);
		CHECK(filled(in, n, other, k));
		barrier(); /* out is in use until the other rank has it */
	}
	POST(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 99, 0, in));
	POST(fi_tsend(e.ep, out, 8, NULL, e.peer, 99, out));
	CHECK(!(next(&e).flags & FI_REMOTE_CQ_DATA)); /* there is none */
	close_end(&e);
}

/* An injected buffer is the program's again at once, and there is no completion. */
void row_inject(void)
{
	struct setup s = {0};
	struct end e;
	char *out, *in;
	size_t most;

	open_end(&e, &s);
	most = e.info->tx_attr->inject_size;
	CHECK(most >= 64);
	out = buffer(most + 1), in = buffer(most + 1);
	CHECK(fi_inject(e.ep, out, most + 1, e.peer) < 0 && fi_tinject(e.ep, out, most + 1, e.peer, 1) < 0);
	for (int k = 0; k < 40; k++) {
		size_t n = k % 3 == 0 ? most : k % 3 == 1 ? 16 : 0;
		fill(out, n, me, k);
		POST(k % 2 ? fi_inject(e.ep, out, n, e.peer) : fi_tinject(e.ep, out, n, e.peer, k));
		memset(out, 0xee, most);
	}
	for (int k = 0; k < 40; k++) {
		size_t n = k % 3 == 0 ? most : k % 3 == 1 ? 16 : 0;
		POST(k % 2 ? fi_recv(e.ep, in, most, NULL, e.peer, in) : fi_trecv(e.ep, in, most, NULL, e.peer, k, 0, in));
		CHECK(next(&e).len == n && filled(in, n, other, k)); /* of the receive: no other comes */
	}
	nothing(&e);
	close_end(&e);
	free(out), free(in);
}

/* Neither rank receives before all is sent: what came must be kept, or be held back without deadlock. */
void row_unexpected(void)
{
	enum { N = 1000, LENGTH = 3000 };
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION, .rx_flags = FI_COMPLETION};
	struct end e;
	char *out = buffer((size_t)N * LENGTH), in[LENGTH];

	open_end(&e, &s);
	for (int k = 0; k < N; k++) {
		fill(out + (size_t)k * LENGTH, LENGTH, me, k);
		POST(fi_tsend(e.ep, out + (size_t)k * LENGTH, LENGTH, NULL, e.peer, k, NULL));
	}
	for (int k = 0; k < N; k++) {
		int tag = k % 2 ? N - k : k; /* in no order */
		POST(fi_trecv(e.ep, in, LENGTH, NULL, e.peer, tag, 0, in));
		CHECK(next(&e).tag == (uint64_t)tag && filled(in, LENGTH, other, tag));
	}
	close_end(&e);
	free(out);
}

/* MPI_THREAD_MULTIPLE: threads use one endpoint and one queue, and take each other's completions. */
enum { THREADS = 4, TURNS = 150 };

struct op {
	_Atomic bool done;
	size_t length;
};

struct share {
	struct end *e;
	int number;
	pthread_t thread;
};

static void *exchange(void *arg)
{
	struct share *mine = arg;
	struct end *e = mine->e;
	char in[2000], out[2000];

	for (int turn = 0; turn < TURNS; turn++) {
		struct op sent = {0}, received = {0};
		uint64_t tag = (uint64_t)mine->number << 32 | turn;
		size_t n = turn % 3 ? 8 : sizeof out;
		int64_t end = deadline();
		struct fi_cq_tagged_entry entry;

		fill(out, n, me, turn + mine->number);
		POST(fi_trecv(e->ep, in, sizeof in, NULL, e->peer, tag, 0, &received));
		POST(fi_tsend(e->ep, out, n, NULL, e->peer, tag, &sent));
		while (!atomic_load(&sent.done) || !atomic_load(&received.done)) {
			ssize_t got = fi_cq_read(e->cq, &entry, 1);
			expired(end, __FILE__, __LINE__);
			CHECK(got == 1 || got == -FI_EAGAIN);
			if (got == 1) {
				struct op *o = entry.op_context;
				o->length = entry.len;
				atomic_store(&o->done, true);
			}
		}
		CHECK(received.length == n && filled(in, n, other, turn + mine->number));
	}
	return NULL;
}

void row_threads(void)
{
	struct setup s = {.threading = FI_THREAD_SAFE};
	struct share shares[THREADS];
	struct end e;

	open_end(&e, &s);
	for (int i = 0; i < THREADS; i++) {
		shares[i] = (struct share){.e = &e, .number = i};
		CHECK(pthread_create(&shares[i].thread, NULL, exchange, &shares[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(shares[i].thread, NULL) == 0);
	nothing(&e);
	close_end(&e);
}

/* What a handler of signals did while the program waited. */
static struct end *interrupted;
static volatile sig_atomic_t interrupts, injected, unexpected_errors;

static void on_signal(int number)
{
	char byte = 'i';
	ssize_t err = fi_tinject(interrupted->ep, &byte, 1, interrupted->peer, number);

	interrupts++;
	if (err == 0)
		injected++;
	else if (err != -FI_EAGAIN)
		unexpected_errors++;
	if (fi_cq_read(interrupted->cq, NULL, 0) != -FI_EAGAIN)
		unexpected_errors++;
}

static void *interrupt(void *thread)
{
	for (int i = 0; i < 200; i++) {
		usleep(500);
		CHECK(pthread_kill(*(pthread_t *)thread, SIGUSR1) == 0);
	}
	return NULL;
}

/* GASNet: handlers of signals send messages and look for some, wherever they interrupt the program. */
void row_signals(void)
{
	struct setup s = {.wait_obj = FI_WAIT_UNSPEC};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART}, before;
	pthread_t self = pthread_self(), interrupter;
	struct fi_cq_tagged_entry entry;
	struct end e;
	int mine, theirs;

	open_end(&e, &s);
	interrupted = &e;
	OK(sigaction(SIGUSR1, &action, &before));
	CHECK(pthread_create(&interrupter, NULL, interrupt, &self) == 0);
	CHECK(fi_cq_sread(e.cq, &entry, 1, NULL, 150) == -FI_EAGAIN);
	CHECK(pthread_join(interrupter, NULL) == 0);
	OK(sigaction(SIGUSR1, &before, NULL));
	CHECK(interrupts > 0 && unexpected_errors == 0);
	mine = injected;
	swap(&mine, &theirs, sizeof mine);
	while (theirs-- > 0) {
		char in = 0;
		POST(fi_trecv(e.ep, &in, 1, NULL, e.peer, SIGUSR1, 0, &in));
		CHECK(next(&e).op_context == &in && in == 'i');
	}
	nothing(&e);
	close_end(&e);
}

static volatile sig_atomic_t urgent;

static void on_urgent(int number)
{
	(void)number;
	urgent++;
}

/* PETSc: a program has a handler for SIGURG, which ends it. No runtime in the library sends that signal. */
void row_urgent(void)
{
	struct setup s = {.wait_obj = FI_WAIT_UNSPEC};
	struct sigaction action = {.sa_handler = on_urgent, .sa_flags = SA_ONSTACK | SA_RESTART}, before;
	struct fi_cq_tagged_entry entry;

	OK(sigaction(SIGURG, &action, &before));
	for (int i = 0; i < 20; i++) {
		struct end e;

		open_end(&e, &s);
		CHECK(fi_cq_sread(e.cq, &entry, 1, NULL, 20) == -FI_EAGAIN);
		nothing(&e);
		close_end(&e);
	}
	OK(sigaction(SIGURG, &before, NULL));
	CHECK(urgent == 0);
}
