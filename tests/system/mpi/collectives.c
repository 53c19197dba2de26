/* Communicators and collective operations of MPI, with values that are checked. */
#include "check.h"

static const int sizes[] = {1, 7, 1000, 5000, 100000};
#define SIZES (int)(sizeof sizes / sizeof *sizes)

/* The sum of what f gives for each rank. */
#define SUM(expression) ({ long s_ = 0; for (int r = 0; r < size; r++) s_ += (expression); s_; })

static void on(MPI_Comm comm, int n)
{
	int me, size, *a, *b, *counts, *places;
	long first;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &size);
	a = malloc(sizeof *a * (size_t)n * (size_t)size);
	b = malloc(sizeof *b * (size_t)n * (size_t)size);
	counts = malloc(sizeof *counts * (size_t)size);
	places = malloc(sizeof *places * (size_t)size);
	for (int root = 0; root < size; root++) {
		for (int i = 0; i < n; i++)
			a[i] = me == root ? root * 10 + i : -1;
		MPI_Bcast(a, n, MPI_INT, root, comm);
		for (int i = 0; i < n; i++)
			CHECK(a[i] == root * 10 + i);
	}
	for (int i = 0; i < n; i++)
		a[i] = me * 3 + i;
	MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, size - 1, comm);
	for (int i = 0; me == size - 1 && i < n; i++)
		CHECK(b[i] == SUM(r * 3 + i));
	MPI_Allreduce(a, b, n, MPI_INT, MPI_MAX, comm);
	for (int i = 0; i < n; i++)
		CHECK(b[i] == (size - 1) * 3 + i);
	MPI_Scan(a, b, n, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < n; i++) {
		first = 0;
		for (int r = 0; r <= me; r++)
			first += r * 3 + i;
		CHECK(b[i] == first);
	}
	MPI_Exscan(a, b, n, MPI_INT, MPI_SUM, comm);
	for (int i = 0; me > 0 && i < n; i++) {
		first = 0;
		for (int r = 0; r < me; r++)
			first += r * 3 + i;
		CHECK(b[i] == first);
	}
	MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, 0, comm);
	for (int i = 0; me == 0 && i < n * size; i++)
		CHECK(b[i] == i / n * 3 + i % n);
	MPI_Scatter(b, n, MPI_INT, a, n, MPI_INT, 0, comm);
	for (int i = 0; i < n; i++)
		CHECK(a[i] == me * 3 + i);
	MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, comm);
	for (int i = 0; i < n * size; i++)
		CHECK(b[i] == i / n * 3 + i % n);
	for (int i = 0; i < n * size; i++)
		a[i] = me * 1000 + i / n * 10 + i % n;
	MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, comm);
	for (int i = 0; i < n * size; i++)
		CHECK(b[i] == i / n * 1000 + me * 10 + i % n);
	MPI_Reduce_scatter_block(a, b, n, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < n; i++)
		CHECK(b[i] == SUM(r * 1000 + me * 10 + i));
	/* Each rank's part has another length; the last has none. */
	for (int r = 0, at = 0; r < size; r++, at += counts[r - 1]) {
		counts[r] = r == size - 1 ? 0 : n / (r + 1);
		places[r] = at;
	}
	for (int i = 0; i < counts[me]; i++)
		a[i] = me * 7 + i;
	memset(b, 0xff, sizeof *b * (size_t)n * (size_t)size);
	MPI_Allgatherv(a, counts[me], MPI_INT, b, counts, places, MPI_INT, comm);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < counts[r]; i++)
			CHECK(b[places[r] + i] == r * 7 + i);
	MPI_Gatherv(a, counts[me], MPI_INT, b, counts, places, MPI_INT, 0, comm);
	MPI_Scatterv(b, counts, places, MPI_INT, a, counts[me], MPI_INT, 0, comm);
	for (int i = 0; i < counts[me]; i++)
		CHECK(a[i] == me * 7 + i);
	for (int i = 0; i < n * size; i++)
		a[i] = me + i;
	MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < counts[me]; i++)
		CHECK(b[i] == SUM(r + places[me] + i));
	free(places);
	free(counts);
	free(b);
	free(a);
}

static void nonblocking(MPI_Comm comm, int n)
{
	MPI_Request r[6];
	int size, me, *a, *b, *all, *s, *g, *t, *u;

	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &me);
	a = calloc((size_t)n * (size_t)size, sizeof *a);
	b = calloc((size_t)n, sizeof *b);
	all = calloc((size_t)n * (size_t)size, sizeof *all);
	s = calloc((size_t)n, sizeof *s);
	g = calloc((size_t)n * (size_t)size, sizeof *g);
	t = calloc((size_t)n * (size_t)size, sizeof *t);
	u = calloc((size_t)n * (size_t)size, sizeof *u);
	for (int i = 0; i < n * size; i++)
		a[i] = u[i] = me + i;
	for (int i = 0; i < n; i++)
		b[i] = me == 0 ? i : -1;
	MPI_Ibcast(b, n, MPI_INT, 0, comm, &r[0]);
	MPI_Iallgather(a, n, MPI_INT, all, n, MPI_INT, comm, &r[1]);
	MPI_Iallreduce(a, s, n, MPI_INT, MPI_SUM, comm, &r[2]);
	MPI_Igather(a, n, MPI_INT, g, n, MPI_INT, size - 1, comm, &r[3]);
	MPI_Ialltoall(u, n, MPI_INT, t, n, MPI_INT, comm, &r[4]);
	MPI_Ibarrier(comm, &r[5]);
	MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < n; i++) {
		CHECK(b[i] == i && s[i] == SUM(r + i));
		for (int p = 0; p < size; p++) {
			CHECK(all[p * n + i] == p + i && t[p * n + i] == p + me * n + i);
			CHECK(me != size - 1 || g[p * n + i] == p + i);
		}
	}
	free(a), free(b), free(all), free(s), free(g), free(t), free(u);
}

static void intercomm(void)
{
	MPI_Comm half, inter, merged;
	int mine = rank % 2, v, sum, n, peer = -1;

	if (ranks < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, mine, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mine, 12, &inter);
	MPI_Comm_remote_size(inter, &n);
	CHECK(n == (ranks + mine) / 2);
	v = rank + 1;
	MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, inter);
	for (int r = 1 - mine; r < ranks; r += 2)
		sum -= r + 1;
	CHECK(sum == 0);
	MPI_Barrier(inter);
	if (rank < 2) {
		MPI_Sendrecv(&rank, 1, MPI_INT, 0, 4, &peer, 1, MPI_INT, 0, 4, inter, MPI_STATUS_IGNORE);
		CHECK(peer == 1 - rank);
	}
	MPI_Intercomm_merge(inter, mine, &merged);
	on(merged, 50);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	MPI_Comm dup, part, many[40];
	int n = -1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int s = 0; s < SIZES; s++) {
		on(MPI_COMM_WORLD, sizes[s]);
		nonblocking(MPI_COMM_WORLD, sizes[s]);
	}
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	/* A message of one communicator is not seen in another. */
	if (rank < 2) {
		MPI_Request r;
		int a = 1, b = 2, x = 0, y = 0;

		MPI_Isend(&a, 1, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, &r);
		MPI_Send(&b, 1, MPI_INT, 1 - rank, 8, dup);
		MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, MPI_STATUS_IGNORE);
		MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		CHECK(x == 1 && y == 2);
	}
	MPI_Comm_split(dup, rank % 2, -rank, &part);
	MPI_Comm_size(part, &n);
	CHECK(n == (ranks + 1 - rank % 2) / 2);
	on(part, 300);
	for (int i = 0; i < 40; i++)
		MPI_Comm_dup(part, &many[i]);
	for (int i = 0; i < 40; i++) {
		MPI_Barrier(many[i]);
		MPI_Comm_free(&many[i]);
	}
	MPI_Comm_free(&part);
	MPI_Comm_free(&dup);
	intercomm();
	return verdict("collectives");
}
