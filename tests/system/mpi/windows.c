/* Windows of MPI-3, with each kind of synchronisation. */
#include "check.h"

enum { N = 20000 };
static long *memory, buf[N], got[N];
static MPI_Win win;

static void clear(void)
{
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
	memset(memory, 0, N * sizeof *memory);
	MPI_Win_unlock(rank, win);
	memset(got, 0, sizeof got);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void fence(int n)
{
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	clear();
	for (int i = 0; i < n; i++)
		buf[i] = rank * 100000L + i;
	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	MPI_Put(buf, n, MPI_LONG, next, 0, n, MPI_LONG, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < n; i++)
		CHECK(memory[i] == last * 100000L + i);
	MPI_Win_fence(0, win);
	MPI_Get(got, n, MPI_LONG, next, 0, n, MPI_LONG, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < n; i++)
		CHECK(got[i] == rank * 100000L + i);
	MPI_Accumulate(buf, n, MPI_LONG, 0, 0, n, MPI_LONG, MPI_SUM, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	for (int i = 0; rank == 0 && i < n; i++) {
		long sum = last * 100000L + i;
		for (int r = 0; r < ranks; r++)
			sum += r * 100000L + i;
		CHECK(memory[i] == sum);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void post_start(int n)
{
	MPI_Group world, to, from;
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	clear();
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &next, &to);
	MPI_Group_incl(world, 1, &last, &from);
	for (int turn = 1; turn < 6; turn++) {
		for (int i = 0; i < n; i++)
			buf[i] = rank * 100000L + i * turn;
		MPI_Win_post(from, 0, win);
		MPI_Win_start(to, 0, win);
		MPI_Put(buf, n, MPI_LONG, next, 0, n, MPI_LONG, win);
		MPI_Win_complete(win);
		MPI_Win_wait(win);
		for (int i = 0; i < n; i++)
			CHECK(memory[i] == last * 100000L + i * turn);
	}
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Group_free(&world);
}

static void locks(int n)
{
	long one = 1, old = -1, zero = 0, want;

	clear();
	for (int i = 0; i < n; i++)
		buf[i] = 1;
	for (int turn = 0; turn < 10; turn++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Get(got, n, MPI_LONG, 0, 0, n, MPI_LONG, win);
		MPI_Win_flush(0, win);
		for (int i = 0; i < n; i++)
			buf[i] = got[i] + 1;
		MPI_Put(buf, n, MPI_LONG, 0, 0, n, MPI_LONG, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Get(got, n, MPI_LONG, 0, 0, n, MPI_LONG, win);
	MPI_Win_unlock(0, win);
	for (int i = 0; i < n; i++)
		CHECK(got[i] == 10L * ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	clear();
	MPI_Win_lock_all(0, win);
	for (int turn = 0; turn < 50; turn++)
		for (int r = 0; r < ranks; r++) {
			MPI_Fetch_and_op(&one, &old, MPI_LONG, r, 0, MPI_SUM, win);
			MPI_Win_flush(r, win);
			CHECK(old >= turn && old < 50L * ranks);
			MPI_Accumulate(&one, 1, MPI_LONG, r, 1, 1, MPI_LONG, MPI_SUM, win);
			MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, r, 2, 1, MPI_LONG, MPI_SUM, win);
			MPI_Win_flush_local(r, win);
			CHECK(old >= turn && old < 50L * ranks);
		}
	MPI_Win_flush_all(win);
	/* A counter that is raised by compare and swap alone. */
	for (int turn = 0; turn < 20; turn++) {
		MPI_Fetch_and_op(NULL, &old, MPI_LONG, 0, 3, MPI_NO_OP, win);
		MPI_Win_flush(0, win);
		for (;;) {
			long next = old + 1;
			want = old;
			MPI_Compare_and_swap(&next, &want, &old, MPI_LONG, 0, 3, win);
			MPI_Win_flush(0, win);
			if (old == want)
				break;
		}
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	MPI_Get_accumulate(&zero, 1, MPI_LONG, &old, 1, MPI_LONG, rank, 0, 1, MPI_LONG, MPI_NO_OP, win);
	MPI_Win_unlock(rank, win);
	CHECK(old == 50L * ranks && memory[1] == 50L * ranks && memory[2] == 50L * ranks);
	CHECK(rank != 0 || memory[3] == 20L * ranks);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void requests(void)
{
	MPI_Request r[2];

	clear();
	MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
	for (int i = 0; i < N; i++)
		buf[i] = i * 3L + rank;
	MPI_Rput(buf, N / ranks, MPI_LONG, 0, rank * (N / ranks), N / ranks, MPI_LONG, win, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Win_flush_all(win);
	MPI_Rget(got, N / ranks, MPI_LONG, 0, rank * (N / ranks), N / ranks, MPI_LONG, win, &r[1]);
	MPI_Wait(&r[1], MPI_STATUS_IGNORE);
	for (int i = 0; i < N / ranks; i++)
		CHECK(got[i] == i * 3L + rank);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int kind = 0; kind < 2; kind++) {
		if (kind == 0) {
			MPI_Win_allocate(N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
		} else {
			memory = malloc(N * sizeof *memory);
			MPI_Win_create(memory, N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		for (int n = 1; n <= N; n = n == 1 ? 1000 : n * 20) {
			fence(n);
			post_start(n);
			locks(n);
		}
		requests();
		MPI_Win_free(&win);
	}
	free(memory);
	return verdict("windows");
}
