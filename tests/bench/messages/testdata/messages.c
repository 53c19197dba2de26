/* Two ranks measure a plan, as rank.go does: usage: messages PLAN CPU0 CPU1 [ALLREDUCES], where PLAN
 * is SIZE:ROUNDS:STREAM,... and a rank whose CPU is -1 runs where it is. Rank 0 prints nanoseconds,
 * one way, per message, and of an allreduce. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHORT = 65536, MOST = 4 << 20, WINDOW = 64, PIECES = 8 };

static char data[MOST];
static int rank;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static void ping_pong(int size, int count) {
  for (int i = 0; i < count; i++) {
    if (rank == 0) MPI_Send(data, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(data, size, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

/* The buffer of operation i of a window: longer messages than SHORT share buffers, as in other
 * benchmarks. */
static char *buffer(int i, int size) {
  int stride = size < SHORT ? SHORT : size;
  return data + i % (MOST / stride) * stride;
}

/* Windows of non-blocking operations, the fastest way there is in MPI. */
static void stream(int size, int count) {
  MPI_Request all[WINDOW];
  for (int done = 0; done < count;) {
    int n = count - done < WINDOW ? count - done : WINDOW;
    for (int i = 0; i < n; i++) {
      if (rank == 0) MPI_Isend(buffer(i, size), size, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &all[i]);
      else MPI_Irecv(buffer(i, size), size, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &all[i]);
    }
    MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
    done += n;
  }
  if (rank == 1) MPI_Send(data, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
  else MPI_Recv(data, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void allreduce(int size, int count) {
  double one = 1, sum;
  (void)size;
  for (int i = 0; i < count; i++) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static double timed(void (*run)(int, int), int size, int count) {
  run(size, count / 10 + 1);
  double start = now();
  run(size, count);
  return (now() - start) / count;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpu = atoi(argv[2 + rank]);
  if (cpu >= 0) {
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  memset(data, 1, sizeof data);
  for (char *p = strtok(argv[1], ","); p; p = strtok(NULL, ",")) {
    int size, rounds, count;
    if (sscanf(p, "%d:%d:%d", &size, &rounds, &count) != 3 || size > MOST) MPI_Abort(MPI_COMM_WORLD, 2);
    double latency = timed(ping_pong, size, rounds) / 2, each = timed(stream, size, count);
    if (rank == 0) printf("lat %d %.2f\nbw %d %.2f\n", size, latency, size, each);
  }
  for (int i = 0; argc > 4 && i < PIECES; i++) {
    double each = timed(allreduce, 8, atoi(argv[4]));
    if (rank == 0) printf("allreduce 8 %.2f\n", each);
  }
  MPI_Finalize();
  return 0;
}
