/* What the MPI programs of this folder share: a check that names itself, and a pattern of bytes. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, failed;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "rank %d: %s:%d: not %s\n", rank, __FILE__, __LINE__, #condition);             \
			failed++;                                                                                      \
		}                                                                                                      \
	} while (0)

static inline unsigned char byte_at(int seed, long i) { return (unsigned char)(seed * 31 + i * 7 + (i >> 8)); }

static inline void fill(void *buf, long n, int seed)
{
	for (long i = 0; i < n; i++)
		((unsigned char *)buf)[i] = byte_at(seed, i);
}

static inline int filled(const void *buf, long n, int seed)
{
	for (long i = 0; i < n; i++)
		if (((const unsigned char *)buf)[i] != byte_at(seed, i))
			return 0;
	return 1;
}

/* Runs a part of a program; with VERBOSE set it is told when it begins. */
#define PART(call)                                                                                                     \
	do {                                                                                                           \
		if (rank == 0 && getenv("VERBOSE"))                                                                    \
			fprintf(stderr, "%.3f %s\n", MPI_Wtime(), #call);                                              \
		call;                                                                                                  \
	} while (0)

/* Says the verdict of all ranks and ends the program. */
static inline int verdict(const char *name)
{
	int all = 0;

	MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%s: %s\n", name, all ? "FAILED" : "right");
	MPI_Finalize();
	return all != 0;
}

#endif
