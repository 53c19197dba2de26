/* Atomic operations on the other rank's memory. */
#include "consumer.h"
#include "rows.h"

#include <math.h>

#define ALL (FI_REMOTE_READ | FI_REMOTE_WRITE)

static union {
	int8_t i8[8];
	int32_t i32[8];
	uint32_t u32[8];
	int64_t i64[8];
	uint64_t u64[8];
	float f32[16];
	double f64[8];
} window;

static void start(struct end *e, struct window *w, const struct setup *s)
{
	open_end(e, s);
	memset(&window, 0, sizeof window);
	open_window(e, w, &window, sizeof window, ALL, 1);
}

static void end(struct end *e, struct window *w)
{
	close_window(w);
	close_end(e);
}

/* MPICH asks for each of them at its start; what OpenSHMEM, btl/ofi and MPICH need must be there. */
void row_atomic_valid(void)
{
	static const enum fi_datatype words[] = {FI_INT32, FI_UINT32, FI_INT64, FI_UINT64};
	static const enum fi_datatype moved[] = {FI_INT32, FI_INT64, FI_FLOAT, FI_DOUBLE};
	struct setup s = {0};
	struct end e;
	size_t n;

	open_end(&e, &s);
	for (int type = 0; type < FI_DATATYPE_LAST; type++)
		for (int op = 0; op < FI_ATOMIC_OP_LAST; op++) {
			struct fi_atomic_attr attr = {0};
			int plain = fi_atomicvalid(e.ep, type, op, &n), fetch = fi_fetch_atomicvalid(e.ep, type, op, &n);
			int compare = fi_compare_atomicvalid(e.ep, type, op, &n);
			CHECK((plain == 0 || plain == -FI_EOPNOTSUPP) && (fetch == 0 || fetch == -FI_EOPNOTSUPP));
			CHECK(compare == 0 || compare == -FI_EOPNOTSUPP);
			CHECK(fi_query_atomic(e.domain, type, op, &attr, FI_FETCH_ATOMIC) == fetch && (fetch || attr.count > 0));
		}
	for (int k = 0; k < 4; k++) {
		OK(fi_atomicvalid(e.ep, words[k], FI_SUM, &n));
		OK(fi_fetch_atomicvalid(e.ep, words[k], FI_SUM, &n));
		OK(fi_compare_atomicvalid(e.ep, words[k], FI_CSWAP, &n));
		CHECK(n >= 1);
		OK(fi_fetch_atomicvalid(e.ep, moved[k], FI_ATOMIC_READ, &n));
		OK(fi_fetch_atomicvalid(e.ep, moved[k], FI_ATOMIC_WRITE, &n));
		OK(fi_atomicvalid(e.ep, moved[k], FI_ATOMIC_WRITE, &n));
		CHECK(n >= 1);
	}
	OK(fi_compare_atomicvalid(e.ep, FI_INT32, FI_MSWAP, &n));
	CHECK(fi_atomicvalid(e.ep, FI_UINT64, FI_CSWAP, &n) != 0 && fi_compare_atomicvalid(e.ep, FI_UINT64, FI_SUM, &n) != 0);
	close_end(&e);
}

static void each_op(struct end *e, struct window *w)
{
	static const struct {
		enum fi_op op;
		uint64_t before, with, after;
	} ops[] = {
		{FI_MIN, 9, 4, 4}, {FI_MAX, 9, 14, 14}, {FI_SUM, 9, 4, 13}, {FI_PROD, 9, 4, 36}, {FI_LOR, 0, 4, 1}, {FI_LAND, 9, 0, 0},
		{FI_BOR, 9, 6, 15}, {FI_BAND, 9, 5, 1}, {FI_LXOR, 9, 4, 0}, {FI_BXOR, 9, 5, 12}, {FI_ATOMIC_WRITE, 9, 4, 4},
	};

	for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
		uint64_t with = ops[k].with;

		barrier();
		window.u64[3] = ops[k].before;
		barrier();
		POST(fi_atomic(e->ep, &with, 1, NULL, e->peer, w->at + 24, w->key, FI_UINT64, ops[k].op, &with));
		CHECK(next(e).op_context == &with);
		barrier();
		CHECK(window.u64[3] == ops[k].after);
	}
}

void row_atomic(void)
{
	enum { N = 50 };
	struct setup s = {0};
	struct end e;
	struct window w;
	int32_t i32[2] = {1, -3};
	double f64 = 0.5;
	float f32 = 2;
	uint64_t one = 1;

	start(&e, &w, &s);
	for (int k = 0; k < N; k++) {
		struct fi_ioc ioc = {i32, 2};
		struct fi_rma_ioc remote = {.addr = w.at, .count = 2, .key = w.key};
		struct fi_msg_atomic m = {
			.msg_iov = &ioc, .iov_count = 1, .addr = e.peer, .rma_iov = &remote, .rma_iov_count = 1,
			.datatype = FI_INT32, .op = FI_SUM, .context = i32,
		};
		POST(fi_atomicmsg(e.ep, &m, FI_COMPLETION));
		POST(fi_inject_atomic(e.ep, &one, 1, e.peer, w.at + 8, w.key, FI_UINT64, FI_SUM)); /* silent */
		POST(fi_atomic(e.ep, &f64, 1, NULL, e.peer, w.at + 16, w.key, FI_DOUBLE, FI_SUM, &f64));
		POST(fi_atomic(e.ep, &f32, 1, NULL, e.peer, w.at + 40, w.key, FI_FLOAT, FI_SUM, &f32));
		for (int i = 0; i < 3; i++)
			CHECK((next(&e).flags & FI_ATOMIC) != 0);
	}
	barrier();
	CHECK(window.i32[0] == N && window.i32[1] == -3 * N && window.u64[1] == N);
	CHECK(fabs(window.f64[2] - N * 0.5) < 1e-9 && window.f32[10] == 2 * N);
	each_op(&e, &w);
	end(&e, &w);
}

/* Both ranks take numbers of rank 0's word: each is given once. */
void row_fetch_atomic(void)
{
	enum { N = 200 };
	struct setup s = {0};
	struct end e;
	struct window w;
	uint64_t one = 1, old, last = 0, mine = 0, theirs, key, swapped = 99, got;
	fi_addr_t to;

	start(&e, &w, &s);
	key = fi_mr_key(w.mr);
	to = me == 0 ? e.self : e.peer;
	for (int k = 0; k < N; k++) {
		POST(fi_fetch_atomic(e.ep, &one, 1, NULL, &old, NULL, to, 0, me == 0 ? key : w.key, FI_UINT64, FI_SUM, &old));
		CHECK(next(&e).op_context == &old);
		CHECK(k == 0 || old > last);
		last = old, mine += old;
	}
	swap(&mine, &theirs, sizeof mine);
	CHECK(mine + theirs == 2 * N * (2 * N - 1) / 2);
	POST(fi_fetch_atomic(e.ep, NULL, 1, NULL, &got, NULL, to, 0, me == 0 ? key : w.key, FI_UINT64, FI_ATOMIC_READ, &got));
	next(&e);
	CHECK(got == 2 * N);
	POST(fi_fetch_atomic(e.ep, &swapped, 1, NULL, &got, NULL, e.peer, w.at + 16, w.key, FI_INT64, FI_ATOMIC_WRITE, &got));
	next(&e);
	barrier();
	CHECK(got == 0 && window.u64[2] == 99);
	double d = 1.5, before = -1;
	POST(fi_fetch_atomic(e.ep, &d, 1, NULL, &before, NULL, e.peer, w.at + 24, w.key, FI_DOUBLE, FI_ATOMIC_WRITE, &before));
	next(&e);
	barrier();
	CHECK(before == 0 && window.f64[3] == 1.5);
	end(&e, &w);
}

void row_compare_atomic(void)
{
	struct setup s = {0};
	struct end e;
	struct window w;
	uint64_t compare = 0, with = 5, old = 1;
	uint32_t compare32 = 7, with32 = 8, old32 = 1;
	int32_t mask = 0x00ff, bits = 0x1234, old_bits = 1;

	start(&e, &w, &s);
	POST(fi_compare_atomic(e.ep, &with, 1, NULL, &compare, NULL, &old, NULL, e.peer, w.at, w.key, FI_UINT64, FI_CSWAP, &old));
	CHECK(next(&e).op_context == &old && old == 0); /* it was equal, and is 5 now */
	with = 6;
	POST(fi_compare_atomic(e.ep, &with, 1, NULL, &compare, NULL, &old, NULL, e.peer, w.at, w.key, FI_UINT64, FI_CSWAP, &old));
	CHECK(next(&e).op_context == &old && old == 5); /* it is not, and stays */
	POST(fi_compare_atomic(e.ep, &with32, 1, NULL, &compare32, NULL, &old32, NULL, e.peer, w.at + 16, w.key, FI_UINT32, FI_CSWAP, &old32));
	CHECK(next(&e).op_context == &old32 && old32 == 0);
	POST(fi_compare_atomic(e.ep, &bits, 1, NULL, &mask, NULL, &old_bits, NULL, e.peer, w.at + 24, w.key, FI_INT32, FI_MSWAP, &old_bits));
	CHECK(next(&e).op_context == &old_bits && old_bits == 0);
	barrier();
	CHECK(window.u64[0] == 5 && window.u32[4] == 0 && window.i32[6] == 0x34);
	CHECK(fi_compare_atomic(e.ep, &with, 1, NULL, &compare, NULL, &old, NULL, e.peer, w.at, w.key, FI_LONG_DOUBLE, FI_CSWAP, &old) < 0);
	end(&e, &w);
}
