/*
 * Types whose bytes do not begin at the buffer's address, in requests that MPI prepares and starts later, and
 * in receives of messages that a matched probe has found.
 */
#include "check.h"

enum { ROWS = 64, COLUMNS = 1024, STARTS = 3 };

static int matrix[ROWS][COLUMNS], got[ROWS][COLUMNS];

static void set(int start)
{
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++)
			matrix[i][j] = rank * 1000000 + start * 100000 + i * COLUMNS + j, got[i][j] = -1;
}

static int value(int from, int start, int i, int j) { return from * 1000000 + start * 100000 + i * COLUMNS + j; }

/* A part of the matrix, as halo exchanges have it. */
static MPI_Datatype part(int row, int rows, int column, int columns)
{
	int sizes[] = {ROWS, COLUMNS}, parts[] = {rows, columns}, at[] = {row, column};
	MPI_Datatype type;

	MPI_Type_create_subarray(2, sizes, parts, at, MPI_ORDER_C, MPI_INT, &type);
	MPI_Type_commit(&type);
	return type;
}

static int arrived(int from, int start, int row, int rows, int column, int columns)
{
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++) {
			int in = i >= row && i < row + rows && j >= column && j < column + columns;
			if (got[i][j] != (in ? value(from, start, i, j) : -1))
				return 0;
		}
	return 1;
}

static void persistent(int synchronous, int row, int rows, int column, int columns)
{
	MPI_Datatype type = part(row, rows, column, columns);
	MPI_Request requests[2];
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	(synchronous ? MPI_Ssend_init : MPI_Send_init)(matrix, 1, type, next, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(got, 1, type, before, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Type_free(&type); /* the requests keep it */
	for (int start = 0; start < STARTS; start++) {
		set(start);
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		CHECK(arrived(before, start, row, rows, column, columns));
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
}

/* Several elements, and addresses in place of a buffer. */
static void several(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, one = 1, in[2 * COLUMNS];
	MPI_Aint at = COLUMNS * sizeof(int), address;
	MPI_Datatype shifted, absolute, row;
	MPI_Request request;

	set(0);
	MPI_Type_contiguous(COLUMNS, MPI_INT, &row);
	MPI_Type_create_hindexed(1, &one, &at, row, &shifted);
	MPI_Type_commit(&shifted);
	MPI_Send_init(matrix, 2, shifted, next, 2, MPI_COMM_WORLD, &request);
	MPI_Start(&request);
	MPI_Recv(in, 2 * COLUMNS, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Request_free(&request);
	CHECK(in[0] == value(before, 0, 1, 0) && in[2 * COLUMNS - 1] == value(before, 0, 2, COLUMNS - 1));

	MPI_Get_address(matrix[7], &address);
	MPI_Type_create_hindexed(1, &one, &address, row, &absolute);
	MPI_Type_commit(&absolute);
	MPI_Send_init(MPI_BOTTOM, 1, absolute, next, 3, MPI_COMM_WORLD, &request);
	MPI_Start(&request);
	MPI_Recv(in, COLUMNS, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Request_free(&request);
	CHECK(in[0] == value(before, 0, 7, 0) && in[COLUMNS - 1] == value(before, 0, 7, COLUMNS - 1));
	MPI_Type_free(&row);
	MPI_Type_free(&shifted);
	MPI_Type_free(&absolute);
}

/* MPI_Alltoallw prepares requests itself: each rank sends row r to rank r. */
static void everybody(void)
{
	MPI_Datatype sent[ranks], received[ranks];
	int counts[ranks], places[ranks];

	set(0);
	for (int r = 0; r < ranks; r++) {
		sent[r] = part(10 + r, 1, 0, COLUMNS), received[r] = part(20 + r, 1, 0, COLUMNS);
		counts[r] = 1, places[r] = 0;
	}
	MPI_Alltoallw(matrix, counts, places, sent, got, counts, places, received, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++) {
		CHECK(got[20 + r][0] == value(r, 0, 10 + rank, 0));
		CHECK(got[20 + r][COLUMNS - 1] == value(r, 0, 10 + rank, COLUMNS - 1));
		MPI_Type_free(&sent[r]);
		MPI_Type_free(&received[r]);
	}
}

/* So do windows, of long operations. */
static void window(void)
{
	int rows = 32, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Datatype type = part(16, rows, 0, COLUMNS);
	MPI_Win win;

	set(0);
	MPI_Win_create(got, sizeof got, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(matrix, 1, type, next, 0, 1, type, win);
	MPI_Win_fence(0, win);
	CHECK(arrived(before, 0, 16, rows, 0, COLUMNS));
	MPI_Win_free(&win);
	MPI_Type_free(&type);
}

/* A matched message goes into a part of the matrix: whole, or shorter than the part. */
static void matched(int nonblocking, int rows, int column, int columns, int sent)
{
	MPI_Datatype type = part(3, rows, column, columns);
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, count, n = rows * columns, whole = 1;
	int *out = malloc((size_t)sent * sizeof *out);
	MPI_Message message;
	MPI_Status status;
	MPI_Request request, sending;

	set(0);
	for (int i = 0; i < sent; i++)
		out[i] = rank * 1000000 + i;
	MPI_Isend(out, sent, MPI_INT, next, 4, MPI_COMM_WORLD, &sending);
	MPI_Mprobe(before, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
	if (nonblocking) {
		MPI_Imrecv(got, 1, type, &message, &request);
		MPI_Wait(&request, &status);
	} else {
		MPI_Mrecv(got, 1, type, &message, &status);
	}
	MPI_Wait(&sending, MPI_STATUS_IGNORE);
	MPI_Get_elements(&status, type, &count);
	CHECK(count == sent && status.MPI_SOURCE == before && status.MPI_TAG == 4 && message == MPI_MESSAGE_NULL);
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++) {
			int k = i >= 3 && i < 3 + rows && j >= column && j < column + columns ? (i - 3) * columns + j - column : n;
			whole = whole && got[i][j] == (k < sent ? before * 1000000 + k : -1);
		}
	CHECK(whole);
	free(out);
	MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int synchronous = 0; synchronous < 2; synchronous++) {
		PART(persistent(synchronous, 5, 1, 0, COLUMNS));  /* one piece */
		PART(persistent(synchronous, 8, 50, 0, COLUMNS)); /* a long one */
		PART(persistent(synchronous, 0, ROWS, 7, 1));     /* a column */
		PART(persistent(synchronous, 63, 1, 500, 3));
	}
	for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
		PART(matched(nonblocking, 4, 7, 1, 4));         /* a column */
		PART(matched(nonblocking, 60, 0, 1000, 60000)); /* a long one */
		PART(matched(nonblocking, 10, 5, 3, 7));        /* a shorter message */
		PART(matched(nonblocking, 10, 5, 3, 0));
	}
	PART(several());
	PART(everybody());
	PART(window());
	return verdict("types");
}
