#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
	MPI_Comm parent, merged;
	int rank, size, x, set, *app;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &set);
	MPI_Comm_get_parent(&parent);
	MPI_Intercomm_merge(parent, 1, &merged);
	MPI_Bcast(&x, 1, MPI_INT, 0, merged);
	char *name = argv[0];
	for (char *p = name; *p; p++) if (p[0] == '/' && p[1]) name = p + 1;
	printf("worker %d of %d, app %d: %s %s of ./%s\n", rank, size, set ? *app : -1, argv[1], argv[2], name);
	MPI_Comm_free(&merged);
	MPI_Comm_disconnect(&parent);
	MPI_Finalize();
	return 0;
}
