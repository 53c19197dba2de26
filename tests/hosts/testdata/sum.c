#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Replaces UCX's function for this program: MPICH 4.0.2 flushes each connection by it in MPI_Finalize,
   for which the other rank must look at its messages. That one may wait for PMI already, and so both
   wait for ever (pmodels/mpich pull request 6596). */
void *ucp_disconnect_nb(void *endpoint) { (void)endpoint; return NULL; }

/* Sums the ranks' numbers. Each pair of ranks exchanges messages, too. */
int main(int argc, char **argv) {
	int rank, size, sum = 0; long n = argc > 1 ? atol(argv[1]) : 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int *to = calloc(size, sizeof *to), *from = calloc(size, sizeof *from);
	for (long i = 0; i < n; i++) {
		MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0) printf("sum of %d ranks is %d\n", size, sum);
	MPI_Finalize();
	return 0;
}
