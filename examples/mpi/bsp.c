/* A fine-grained bulk-synchronous program: a fixed amount of work, then an
 * exchange with both neighbours, for a fixed number of steps. It spins in its
 * exchanges, so it crawls when its ranks do not run at the same time.
 *
 * usage: bsp MICROSECONDS_OF_WORK STEPS [NAME]
 *        bsp calibrate
 * BSP_LOOPS_PER_US fixes the work so that several runs do the same.
 * Prints one line of progress per second from rank 0, then its result.
 */
#include <mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static uint64_t work(uint64_t loops, uint64_t x)
{
	for (uint64_t i = 0; i < loops; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* The fastest of many short runs: what a step costs when nothing disturbs. */
static double loops_per_microsecond(void)
{
	double best = 0;
	uint64_t x = 88172645463325252ull;
	for (int i = 0; i < 200; i++) {
		double t = now();
		x = work(100000, x);
		double rate = 100000 / ((now() - t) * 1e6);
		if (rate > best)
			best = rate;
	}
	return x ? best : 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "calibrate")) {
		printf("%.3f\n", loops_per_microsecond());
		return 0;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: bsp MICROSECONDS_OF_WORK STEPS [NAME]\n");
		return 2;
	}
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);

	const char *fixed = getenv("BSP_LOOPS_PER_US");
	double rate = fixed ? atof(fixed) : loops_per_microsecond();
	MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	uint64_t loops = (uint64_t)(atof(argv[1]) * rate), x = 88172645463325252ull + rank;
	long steps = atol(argv[2]);
	const char *name = argc > 3 ? argv[3] : "bsp";
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	double value = rank, from[2] = {0, 0};

	for (int i = 0; i < 50; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	double start = now(), said = start;
	for (long i = 0; i < steps; i++) {
		MPI_Request q[4];
		x = work(loops, x);
		MPI_Irecv(&from[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &q[0]);
		MPI_Irecv(&from[1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &q[1]);
		MPI_Isend(&value, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &q[2]);
		MPI_Isend(&value, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &q[3]);
		MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
		value = (from[0] + from[1]) * 0.5;
		if (rank == 0 && now() - said >= 1) {
			said = now();
			printf("%s: %3.0f %%\n", name, 100.0 * i / steps);
			fflush(stdout);
		}
	}
	double seconds = now() - start, sum;
	MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		/* averaging neighbours keeps the sum of all values */
		double want = size * (size - 1) / 2.0;
		int right_sum = fabs(sum - want) < 1e-6 * (want + 1);
		printf("%s: %ld steps in %.3f s, %.1f us each, sum %s\n", name, steps, seconds,
		       seconds / steps * 1e6, right_sum ? "right" : "WRONG");
		if (!right_sum)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (x == 42)
		printf("\n");
	MPI_Finalize();
	return 0;
}
