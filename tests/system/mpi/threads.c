/* Four threads of each rank exchange messages at once, each in its own communicator or by its own tags. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, TURNS = 300 };
static MPI_Comm comms[THREADS];
static const int sizes[] = {0, 8, 3000, 20000, 200000};

static void *run(void *arg)
{
	long id = (long)arg;
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, sum, v;
	char *o = malloc(200000), *n = malloc(200000);

	for (int turn = 0; turn < TURNS; turn++) {
		int size = sizes[turn % 5], seed = turn * 10 + (int)id;
		MPI_Comm comm = turn % 2 ? comms[id] : MPI_COMM_WORLD;
		MPI_Request r;
		MPI_Status st;

		fill(o, size, seed + rank);
		MPI_Irecv(n, 200000, MPI_BYTE, turn % 3 ? last : MPI_ANY_SOURCE, (int)id, comm, &r);
		MPI_Send(o, size, MPI_BYTE, next, (int)id, comm);
		MPI_Wait(&r, &st);
		MPI_Get_count(&st, MPI_BYTE, &v);
		if (v != size || !filled(n, size, seed + last)) {
			fprintf(stderr, "rank %d thread %ld turn %d: %d bytes of %d, or wrong ones\n", rank, id, turn, v, size);
			__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
		}
		if (turn % 50 == 0) {
			v = turn;
			MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, comms[id]);
			if (sum != turn * ranks)
				__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
		}
	}
	free(o);
	free(n);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int given;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	CHECK(given == MPI_THREAD_MULTIPLE);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
	return verdict("threads");
}
