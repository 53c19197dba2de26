/* A whole MPI program: the ranks add up their numbers around a ring. With an
 * argument it ends early: "quit" before MPI_Init, "abort" by MPI_Abort. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int rank, size, token = 0;

	if (argc > 1 && !strcmp(argv[1], "quit"))
		return 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 1 && !strcmp(argv[1], "abort") && rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 9);
	if (rank > 0)
		MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	token += rank;
	MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
	printf("rank %d of %d, token %d\n", rank, size, token);
	MPI_Finalize();
	return 0;
}
