/* Passes a token around all ranks and checks that it comes back whole. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 100;
	long token = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int next = (rank + 1) % size, prev = (rank + size - 1) % size;
	for (int i = 0; i < rounds; i++) {
		if (rank == 0) {
			token++;
			MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
			MPI_Recv(&token, 1, MPI_LONG, prev, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(&token, 1, MPI_LONG, prev, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			token++;
			MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
		}
	}
	if (rank == 0) {
		long want = (long)rounds * size;
		printf("token %ld after %d rounds of %d ranks: %s\n", token, rounds, size,
		       token == want ? "right" : "WRONG");
		if (token != want)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Finalize();
	return 0;
}
