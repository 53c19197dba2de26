/* Says how long MPI_Init took, in milliseconds: the longest of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}
int main(int argc, char **argv) {
	int rank;
	double begin = now(), took, longest;
	MPI_Init(&argc, &argv);
	took = now() - begin;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank == 0) printf("init %.3f\n", longest);
	MPI_Finalize();
	return 0;
}
