/* Memory that the other rank reads and writes. */
#include "consumer.h"
#include "rows.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST (1 << 20)
#define ALL (FI_REMOTE_READ | FI_REMOTE_WRITE)

static char window[MOST], local[MOST];

/* done waits for as many completions, and the last of them. */
static struct fi_cq_tagged_entry done(struct end *e, int count)
{
	struct fi_cq_tagged_entry entry;

	while (count-- > 0)
		entry = next(e);
	return entry;
}

static ssize_t rma_msg(struct end *e, struct window *w, size_t at, size_t n, uint64_t data, bool read, uint64_t flags)
{
	struct iovec iov = {local, n};
	struct fi_rma_iov remote = {.addr = w->at + at, .len = n, .key = w->key};
	struct fi_msg_rma m = {
		.msg_iov = &iov, .iov_count = 1, .addr = e->peer, .rma_iov = &remote, .rma_iov_count = 1, .context = local, .data = data,
	};

	return read ? fi_readmsg(e->ep, &m, flags) : fi_writemsg(e->ep, &m, flags);
}

static void write_and_read(struct end *e, struct window *w)
{
	static const size_t lengths[] = {1, 8, 4096, 100000, MOST};

	for (int k = 0; k < 10; k++) {
		size_t n = lengths[k / 2], at = n == MOST ? 0 : 5;
		struct fi_cq_tagged_entry entry;

		fill(local, n, me, k);
		POST(k % 2 ? rma_msg(e, w, at, n, 0, false, FI_COMPLETION)
			   : fi_write(e->ep, local, n, NULL, e->peer, w->at + at, w->key, local));
		entry = done(e, 1);
		CHECK(entry.op_context == local && (entry.flags & (FI_RMA | FI_WRITE)) == (FI_RMA | FI_WRITE));
		barrier();
		CHECK(filled(window + at, n, other, k));
		memset(local, 0, n);
		POST(k % 2 ? rma_msg(e, w, at, n, 0, true, FI_COMPLETION)
			   : fi_read(e->ep, local, n, NULL, e->peer, w->at + at, w->key, local));
		entry = done(e, 1);
		CHECK(entry.op_context == local && (entry.flags & (FI_RMA | FI_READ)) == (FI_RMA | FI_READ));
		CHECK(filled(local, n, me, k)); /* what this rank has written there */
		barrier();
	}
}

/* Offsets, and keys of the program's choice: a pointer, as btl/ofi and MPICH choose. */
void row_rma(void)
{
	struct setup s = {0};
	struct end e;
	struct window w;

	open_end(&e, &s);
	open_window(&e, &w, window, MOST, ALL, 0x00007f1234567890);
	CHECK(fi_mr_key(w.mr) == 0x00007f1234567890 && w.at == 0);
	write_and_read(&e, &w);
	fill(local, 64, me, 1);
	POST(fi_inject_write(e.ep, local, 64, e.peer, 100, w.key));
	memset(local, 0, 64);
	POST(fi_read(e.ep, local, 64, NULL, e.peer, 100, w.key, local));
	CHECK(done(&e, 1).flags & FI_READ && filled(local, 64, me, 1)); /* the injected one is silent */
	close_window(&w);
	close_end(&e);
}

/* Virtual addresses, and keys of the provider's choice: GASNet, older programs. */
void row_mr_basic(void)
{
	struct setup s = {.mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY};
	struct end e;
	struct window w;
	struct fid_mr *second;
	struct iovec iov = {local, 100};
	struct fi_mr_attr attr = {.mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ};

	open_end(&e, &s);
	open_window(&e, &w, window, MOST, ALL, 7);
	OK(fi_mr_regattr(e.domain, &attr, 0, &second));
	CHECK(fi_mr_key(second) != fi_mr_key(w.mr));
	(void)fi_mr_desc(second); /* may be NULL */
	OK(fi_close(&second->fid));
	write_and_read(&e, &w);
	close_window(&w);
	close_end(&e);
}

void row_mr_errors(void)
{
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION};
	struct end e;
	struct window w, narrow;
	struct fid_mr *twice;

	open_end(&e, &s);
	open_window(&e, &w, window, 1000, FI_REMOTE_WRITE, 11);
	CHECK(fi_mr_reg(e.domain, local, 10, ALL, 0, 11, 0, &twice, NULL) == -FI_ENOKEY);
	CHECK(fi_mr_reg(e.domain, NULL, 4096, ALL, 0, 14, 0, &twice, NULL) == -FI_EINVAL); /* no memory */
	POST(fi_write(e.ep, local, 8, NULL, e.peer, w.at, 12, local)); /* no such key */
	CHECK(next_error(&e).op_context == local);
	POST(fi_write(e.ep, local, 8, NULL, e.peer, w.at + 993, w.key, local)); /* beyond its end */
	CHECK(next_error(&e).err != 0);
	POST(fi_write(e.ep, local, 8, NULL, e.peer, w.at - 8, w.key, local)); /* before its beginning */
	CHECK(next_error(&e).err != 0);
	POST(fi_read(e.ep, local, 8, NULL, e.peer, w.at, w.key, local)); /* it may be written only */
	CHECK(next_error(&e).err == FI_EACCES);
	POST(rma_msg(&e, &w, 0, 8, 0, false, FI_COMPLETION)); /* all goes on */
	done(&e, 1);
	open_window(&e, &narrow, local, 8, FI_REMOTE_READ, 13);
	close_window(&narrow);
	barrier();
	POST(fi_read(e.ep, window, 8, NULL, e.peer, narrow.at, narrow.key, window)); /* it is no more */
	CHECK(next_error(&e).op_context == window);
	close_window(&w);
	close_end(&e);
}

/* wrong writes to, or reads from, an address where the other rank has no such memory. */
static void wrong(struct end *e, struct window *w, uint64_t at, size_t n, bool read)
{
	if (read)
		POST(fi_read(e->ep, local, n, NULL, e->peer, at, w->key, local));
	else
		POST(fi_write(e->ep, local, n, NULL, e->peer, at, w->key, local));
	CHECK(next_error(e).err == FI_EFAULT);
}

/* MPICH's dynamic windows: all memory of a process, by its addresses. */
static void all_memory(int mr_mode)
{
	static const size_t lengths[] = {8, 5000, 300000};
	struct setup s = {.mr_mode = mr_mode};
	struct end e;
	struct window w;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *later;
	uint64_t mine, theirs, one = 1, old = 7;

	open_end(&e, &s);
	open_window(&e, &w, NULL, SIZE_MAX, ALL, 15);
	CHECK(w.at == 0);
	mine = (uint64_t)(uintptr_t)window;
	swap(&mine, &theirs, sizeof mine);
	w.at = theirs;
	write_and_read(&e, &w);

	/* Mapped after the registration: a page, one that is read only, one that is not there. */
	later = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(later != MAP_FAILED && mprotect(later + page, page, PROT_READ) == 0 && munmap(later + 2 * page, page) == 0);
	mine = (uint64_t)(uintptr_t)later;
	swap(&mine, &theirs, sizeof mine);
	POST(fi_fetch_atomic(e.ep, &one, 1, NULL, &old, NULL, e.peer, theirs, w.key, FI_UINT64, FI_SUM, &old));
	CHECK(done(&e, 1).op_context == &old && old == 0);
	barrier();
	CHECK(*(uint64_t *)later == 1);
	POST(fi_read(e.ep, local, page, NULL, e.peer, theirs + page, w.key, local));
	done(&e, 1);
	for (int k = 0; k < 3; k++) {
		wrong(&e, &w, 0, lengths[k], true);
		wrong(&e, &w, 8, lengths[k], false);
		wrong(&e, &w, theirs + page, lengths[k], false);
		wrong(&e, &w, theirs + page, page + lengths[k], true);
		wrong(&e, &w, UINT64_MAX - 4, lengths[k], true);
		wrong(&e, &w, (uint64_t)1 << 63, lengths[k], false);
		wrong(&e, &w, 0xc0f0000000, lengths[k], true); /* where Go may have reserved memory */
	}
	POST(fi_fetch_atomic(e.ep, &one, 1, NULL, &old, NULL, e.peer, theirs + page, w.key, FI_UINT64, FI_SUM, &old));
	CHECK(next_error(&e).err == FI_EFAULT);
	write_and_read(&e, &w); /* all goes on */
	munmap(later, 2 * page);
	close_window(&w);
	close_end(&e);
}

void row_mr_all(void)
{
	all_memory(0);
	all_memory(FI_MR_VIRT_ADDR | FI_MR_PROV_KEY);
}

/* A write with data: the target has an entry, though nobody there waits for it. */
void row_write_data(void)
{
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION};
	struct end e;
	struct window w;

	open_end(&e, &s);
	open_window(&e, &w, window, MOST, ALL, 1);
	for (uint64_t k = 0; k < 6; k++) {
		size_t n = k % 2 ? 100000 : 16;
		struct fi_cq_tagged_entry entry;

		fill(local, n, me, (int)k);
		if (k == 0)
			POST(fi_inject_writedata(e.ep, local, n, 0x1111000000000000 | k, e.peer, w.at, w.key));
		else if (k < 4)
			POST(fi_writedata(e.ep, local, n, NULL, 0x1111000000000000 | k, e.peer, w.at, w.key, local));
		else
			POST(rma_msg(&e, &w, 0, n, 0x1111000000000000 | k, false, FI_REMOTE_CQ_DATA));
		entry = done(&e, 1); /* of the other rank's write */
		CHECK((entry.flags & (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) == (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA));
		CHECK(entry.data == (0x1111000000000000 | k) && filled(window, n, other, (int)k));
		barrier();
	}
	nothing(&e);
	close_window(&w);
	close_end(&e);
}

/* FI_DELIVERY_COMPLETE: at the completion the bytes are in the target's memory, for whoever looks there. */
void row_delivery(void)
{
	struct setup s = {.tx_flags = FI_DELIVERY_COMPLETE};
	struct end e;
	struct window w;
	char go;

	open_end(&e, &s);
	open_window(&e, &w, window, MOST, ALL, 1);
	for (int k = 0; k < 20; k++) {
		size_t n = k % 2 ? 300000 : 40;

		fill(local, n, me, k);
		POST(k % 4 < 2 ? fi_write(e.ep, local, n, NULL, e.peer, w.at, w.key, local)
			       : rma_msg(&e, &w, 0, n, 0, false, FI_DELIVERY_COMPLETE | FI_COMPLETION));
		CHECK(done(&e, 1).op_context == local);
		barrier(); /* on another endpoint, whose messages are in no order with this write */
		CHECK(filled(window, n, other, k));
		POST(fi_trecv(e.ep, &go, 1, NULL, e.peer, k, 0, &go));
		POST(fi_tinject(e.ep, "g", 1, e.peer, k));
		CHECK(done(&e, 1).op_context == &go);
	}
	close_window(&w);
	close_end(&e);
}

/* Writes, reads and atomics of a peer are done in order, however long they are. */
void row_rma_order(void)
{
	struct setup s = {0};
	struct end e;
	struct window w;

	open_end(&e, &s);
	open_window(&e, &w, window, MOST, ALL, 1);
	for (uint64_t k = 0; k < 100; k++) {
		size_t n = k % 5 == 4 ? 300000 : k % 5 == 3 ? 5000 : 8;
		uint64_t one = 1, read = 0, old = 0, mine = 1000 + k;

		memset(local, 0xff, n);
		POST(fi_write(e.ep, local, n, NULL, e.peer, w.at, w.key, local));
		POST(fi_write(e.ep, &mine, 8, NULL, e.peer, w.at + n - 8, w.key, &mine)); /* onto its end */
		POST(fi_fetch_atomic(e.ep, &one, 1, NULL, &old, NULL, e.peer, w.at + n - 8, w.key, FI_UINT64, FI_SUM, &old));
		POST(fi_read(e.ep, &read, 8, NULL, e.peer, w.at + n - 8, w.key, &read));
		done(&e, 4);
		CHECK(old == 1000 + k && read == 1001 + k);
	}
	close_window(&w);
	close_end(&e);
}

/* OpenSHMEM: a counter of the memory counts what peers do with it. */
void row_rma_event(void)
{
	enum { N = 25 };
	struct setup s = {.cq_flags = FI_SELECTIVE_COMPLETION};
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	struct fid_cntr *counter;
	struct end e;
	struct window w;
	uint64_t one = 1, was, now = 0;

	open_end(&e, &s);
	OK(fi_cntr_open(e.domain, &attr, &counter, NULL));
	memset(window, 0, 8);
	open_window(&e, &w, window, MOST, ALL, 1);
	OK(fi_mr_bind(w.mr, &counter->fid, FI_REMOTE_WRITE | FI_RMA_EVENT));
	OK(fi_mr_enable(w.mr));
	barrier();
	for (int k = 0; k < N; k++) {
		POST(fi_write(e.ep, local, k % 5 ? 8 : 100000, NULL, e.peer, w.at + 8, w.key, NULL));
		POST(fi_inject_atomic(e.ep, &one, 1, e.peer, w.at, w.key, FI_UINT64, FI_SUM));
	}
	/* One that fetches changes the memory, too: OpenSHMEM waits for it. A mere look does not. */
	POST(fi_fetch_atomic(e.ep, &one, 1, NULL, &was, NULL, e.peer, w.at, w.key, FI_UINT64, FI_SUM, NULL));
	POST(fi_fetch_atomic(e.ep, NULL, 1, NULL, &now, NULL, e.peer, w.at, w.key, FI_UINT64, FI_ATOMIC_READ, NULL));
	OK(fi_cntr_wait(counter, 2 * N + 1, 20000));
	UNTIL(now == N + 1);
	CHECK(was == N);
	barrier();
	CHECK(fi_cntr_read(counter) == 2 * N + 1 && *(uint64_t *)window == N + 1);
	barrier();
	OK(fi_close(&w.mr->fid));
	OK(fi_close(&counter->fid));
	close_end(&e);
}

/* awaited waits for a word to change, without a call of libfabric. */
static void awaited(volatile uint64_t *word)
{
	int64_t end = deadline();

	while (*word == 0) {
		expired(end, __FILE__, __LINE__);
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
}

/* With FI_PROGRESS_AUTO a rank that computes, and makes no call, is read and written all the same. */
void row_auto_progress(void)
{
	struct setup s = {.data_progress = FI_PROGRESS_AUTO};
	struct end e;
	struct window w;
	uint64_t one = 1, old = 7, read = 1;

	open_end(&e, &s);
	memset(window, 0, 64);
	open_window(&e, &w, window, MOST, ALL, 1);
	for (int turn = 0; turn < 2; turn++) {
		if (turn == me) {
			awaited((volatile uint64_t *)(window + 8));
		} else {
			POST(fi_read(e.ep, &read, 8, NULL, e.peer, w.at, w.key, &read));
			POST(fi_fetch_atomic(e.ep, &one, 1, NULL, &old, NULL, e.peer, w.at, w.key, FI_UINT64, FI_SUM, &old));
			done(&e, 2);
			CHECK(read == 0 && old == 0);
			POST(fi_write(e.ep, &one, 8, NULL, e.peer, w.at + 8, w.key, &one));
			done(&e, 1);
		}
		barrier();
	}
	CHECK(*(uint64_t *)window == 1);
	close_window(&w);
	close_end(&e);
}
