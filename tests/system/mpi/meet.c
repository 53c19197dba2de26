#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm other;
	int rank, size, x, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	int server = !strcmp(argv[1], "server");
	if (server) {
		if (rank == 0) {
			MPI_Open_port(MPI_INFO_NULL, port);
			MPI_Publish_name("meeting", MPI_INFO_NULL, port);
		}
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
	} else {
		if (rank == 0) MPI_Lookup_name("meeting", MPI_INFO_NULL, port);
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
	}
	/* Each rank of both exchanges with all of the other. */
	x = server ? 21 : 22;
	MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, other);
	if (rank == 0) printf("%s has %d\n", argv[1], sum);
	MPI_Comm_disconnect(&other);
	if (server && rank == 0) MPI_Unpublish_name("meeting", MPI_INFO_NULL, port);
	MPI_Finalize();
	return 0;
}
