/* All ranks exchange messages of two lengths with all others, until they are killed. */
#include <mpi.h>

#define LONG 100000

int main(int argc, char **argv) {
	static char out[LONG], in[LONG];
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (unsigned round = 0;; round++) {
		int d = 1 + round % (ranks - 1), n = round % 16 ? 100 : LONG;
		MPI_Sendrecv(out, n, MPI_BYTE, (rank + d) % ranks, d, in, n, MPI_BYTE, (rank + ranks - d) % ranks, d, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		/* More packets than their counter can read help nobody. */
		for (double until = MPI_Wtime() + 50e-6; MPI_Wtime() < until;)
			;
	}
}
