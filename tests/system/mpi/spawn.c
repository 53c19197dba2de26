/* Spawns by its first argument, programs by the others. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static MPI_Comm spawn(char *program, char *how, char *depth) {
	char *args[] = {how, program, depth, NULL};
	MPI_Comm other;
	MPI_Comm_spawn(program, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
	return other;
}
int main(int argc, char **argv) {
	MPI_Comm parent, other, merged;
	int rank, size, x = 42, depth = argc > 3 ? atoi(argv[3]) : 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_get_parent(&parent);
	if (!strcmp(argv[1], "multiple")) {
		char *one[] = {"one", "1", NULL}, *two[] = {"two", "2", NULL}, **args[] = {one, two};
		int procs[] = {2, 3};
		MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
		MPI_Comm_spawn_multiple(2, argv + 2, args, procs, infos, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
		MPI_Intercomm_merge(other, 0, &merged);
		MPI_Bcast(&x, 1, MPI_INT, 0, merged);
		MPI_Comm_size(merged, &size);
		printf("merged %d: %d\n", size, x);
		MPI_Comm_free(&merged);
		MPI_Comm_disconnect(&other);
	} else if (!strcmp(argv[1], "tree") && depth < 2) {
		other = spawn(argv[2], "tree", depth == 0 ? "1" : "2");
		MPI_Comm_remote_size(other, &size);
		printf("depth %d: children %d\n", depth, size);
		MPI_Barrier(other);
		MPI_Comm_disconnect(&other);
	} else if (!strcmp(argv[1], "tree")) {
		printf("depth 2\n");
	} else if (!strcmp(argv[1], "leave")) {
		if (parent == MPI_COMM_NULL) {
			other = spawn(argv[2], "leave", "1");
			MPI_Comm_disconnect(&other);
		} else {
			MPI_Comm_disconnect(&parent);
		}
		MPI_Finalize();
		return depth == 1 && rank == 1 ? 7 : 2 - rank;
	} else if (parent == MPI_COMM_NULL) {
		spawn(argv[2], "crash", "1");
		sleep(1000);
	} else if (rank == 1) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	} else
		sleep(1000);
	if (parent != MPI_COMM_NULL) {
		MPI_Barrier(parent);
		MPI_Comm_disconnect(&parent);
	}
	MPI_Finalize();
	return 0;
}
