/* Point-to-point messages of MPI between ranks 0 and 1, and around the ring of all. */
#include "check.h"

static const long sizes[] = {0, 1, 8, 100, 4000, 4096, 4097, 16384, 16385, 70000, 1 << 20, 16 << 20};
#define SIZES (int)(sizeof sizes / sizeof *sizes)
static char *out, *in;
#define LARGEST (16 << 20)

enum { BLOCKING, BUFFERED, SYNCHRONOUS, READY, MODES };

static void send_blocking(int mode, const void *buf, int n, int to, int tag)
{
	switch (mode) {
	case BLOCKING:
		MPI_Send(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD);
		break;
	case BUFFERED:
		MPI_Bsend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD);
		break;
	case SYNCHRONOUS:
		MPI_Ssend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD);
		break;
	default:
		MPI_Rsend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD);
	}
}

static void send_later(int mode, const void *buf, int n, int to, int tag, MPI_Request *r)
{
	switch (mode) {
	case BLOCKING:
		MPI_Isend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
		break;
	case BUFFERED:
		MPI_Ibsend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
		break;
	case SYNCHRONOUS:
		MPI_Issend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
		break;
	default:
		MPI_Irsend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
	}
}

static void init_persistent(int mode, const void *buf, int n, int to, int tag, MPI_Request *r)
{
	switch (mode) {
	case BLOCKING:
		MPI_Send_init(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
		break;
	case BUFFERED:
		MPI_Bsend_init(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
		break;
	case SYNCHRONOUS:
		MPI_Ssend_init(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
		break;
	default:
		MPI_Rsend_init(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
	}
}

/* The receive is posted before the send, as a ready send needs it; the answer says that it is. */
static void modes(void)
{
	for (int mode = 0; mode < MODES; mode++)
		for (int s = 0; s < SIZES; s++)
			for (int later = 0; later < 3; later++) {
				int n = (int)sizes[s], count = -1, tag = 100 * mode + s;
				MPI_Request r;
				MPI_Status st;

				if (rank == 0) {
					fill(out, n, tag);
					MPI_Recv(NULL, 0, MPI_BYTE, 1, 9999, MPI_COMM_WORLD, &st);
					if (later == 0) {
						send_blocking(mode, out, n, 1, tag);
					} else if (later == 1) {
						send_later(mode, out, n, 1, tag, &r);
						MPI_Wait(&r, MPI_STATUS_IGNORE);
					} else {
						init_persistent(mode, out, n, 1, tag, &r);
						MPI_Start(&r);
						MPI_Wait(&r, MPI_STATUS_IGNORE);
						MPI_Request_free(&r);
					}
				} else if (rank == 1) {
					memset(in, 0, (size_t)n);
					MPI_Irecv(in, n, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &r);
					MPI_Send(NULL, 0, MPI_BYTE, 0, 9999, MPI_COMM_WORLD);
					MPI_Wait(&r, &st);
					MPI_Get_count(&st, MPI_BYTE, &count);
					CHECK(count == n && st.MPI_SOURCE == 0 && st.MPI_TAG == tag && filled(in, n, tag));
				}
			}
}

/* A synchronous send is not done before its receive. */
static void synchronous(void)
{
	MPI_Request r;
	int done = 0, value = 7;

	if (rank == 0) {
		MPI_Issend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &r);
		for (int i = 0; i < 1000; i++) {
			MPI_Test(&r, &done, MPI_STATUS_IGNORE);
			CHECK(!done);
			if (done)
				return;
		}
		MPI_Send(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else if (rank == 1) {
		MPI_Recv(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(value == 7);
	}
}

static void probes(void)
{
	for (int s = 0; s < SIZES; s++) {
		int n = (int)sizes[s], count = -1, flag = 0;
		MPI_Status st;
		MPI_Message m;

		if (rank == 0) {
			fill(out, n, s);
			for (int i = 0; i < 4; i++)
				send_blocking(i & 2 ? SYNCHRONOUS : BLOCKING, out, n, 1, s); /* those to be claimed */
			MPI_Barrier(MPI_COMM_WORLD);
			continue;
		}
		for (int i = 0; rank == 1 && i < 4; i++) {
			int from = i & 1 ? MPI_ANY_SOURCE : 0, tag = i & 2 ? MPI_ANY_TAG : s;

			memset(in, 0, (size_t)n);
			m = MPI_MESSAGE_NULL;
			switch (i) {
			case 0:
				MPI_Probe(from, tag, MPI_COMM_WORLD, &st);
				break;
			case 1:
				for (flag = 0; !flag;)
					MPI_Iprobe(from, tag, MPI_COMM_WORLD, &flag, &st);
				break;
			case 2:
				MPI_Mprobe(from, tag, MPI_COMM_WORLD, &m, &st);
				break;
			default:
				for (flag = 0; !flag;)
					MPI_Improbe(from, tag, MPI_COMM_WORLD, &flag, &m, &st);
			}
			MPI_Get_count(&st, MPI_BYTE, &count);
			CHECK(count == n && st.MPI_SOURCE == 0 && st.MPI_TAG == s);
			if (m == MPI_MESSAGE_NULL)
				MPI_Recv(in, n, MPI_BYTE, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, &st);
			else
				MPI_Mrecv(in, n, MPI_BYTE, &m, &st);
			MPI_Get_count(&st, MPI_BYTE, &count);
			CHECK(count == n && filled(in, n, s));
		}
		flag = 0;
		if (rank == 1)
			MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
		CHECK(!flag);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static void cancels(void)
{
	int canceled = 0, value = 0;
	MPI_Request r;
	MPI_Status st;

	for (int i = 0; i < 100; i++) {
		MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &r);
		MPI_Cancel(&r);
		MPI_Wait(&r, &st);
		MPI_Test_cancelled(&st, &canceled);
		CHECK(canceled);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank > 1)
		return;
	value = rank;
	MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, 77, 1 - rank, 77, MPI_COMM_WORLD, &st);
	CHECK(value == 1 - rank);
}

/* A message that is longer than the buffer is an error of the receive; the next one is not. */
static void truncation(void)
{
	int v[100] = {0}, class = 0, e;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int n = 3; n <= 100; n += 97) {
		if (rank == 0) {
			MPI_Send(v, n, MPI_INT, 1, 3, MPI_COMM_WORLD);
			MPI_Send(&n, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
		} else if (rank == 1) {
			e = MPI_Recv(v, 2, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Error_class(e, &class);
			CHECK(class == MPI_ERR_TRUNCATE);
			CHECK(MPI_Recv(v, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && v[0] == n);
		}
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void persistent(void)
{
	enum { N = 16, TURNS = 20 };
	MPI_Request r[2 * N];
	int o[N], n[N], next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	for (int i = 0; i < N; i++) {
		MPI_Recv_init(&n[i], 1, MPI_INT, last, i, MPI_COMM_WORLD, &r[i]);
		MPI_Send_init(&o[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &r[N + i]);
	}
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < N; i++)
			o[i] = rank * 1000 + turn * 20 + i;
		MPI_Startall(2 * N, r);
		MPI_Waitall(2 * N, r, MPI_STATUSES_IGNORE);
		for (int i = 0; i < N; i++)
			CHECK(n[i] == last * 1000 + turn * 20 + i);
	}
	for (int i = 0; i < 2 * N; i++)
		MPI_Request_free(&r[i]);
}

struct item {
	char c;
	double d;
	int i[3];
};

static void exchange(MPI_Datatype type, const void *from, void *to)
{
	MPI_Request r;

	MPI_Irecv(to, 1, type, (rank + ranks - 1) % ranks, 11, MPI_COMM_WORLD, &r);
	MPI_Send(from, 1, type, (rank + 1) % ranks, 11, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Type_free(&type);
}

static void datatypes(void)
{
	enum { ROWS = 300, COLUMNS = 40 };
	static int a[ROWS][COLUMNS], b[ROWS][COLUMNS];
	int last = (rank + ranks - 1) % ranks, lengths[3] = {1, 1, 3};
	MPI_Aint places[3] = {offsetof(struct item, c), offsetof(struct item, d), offsetof(struct item, i)};
	MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, t;
	struct item x = {(char)('a' + rank), rank + 0.5, {rank, -rank, 3}}, y = {0};

	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++)
			a[i][j] = rank * 100000 + i * COLUMNS + j;
	MPI_Type_vector(ROWS, 3, COLUMNS, MPI_INT, &t);
	MPI_Type_commit(&t);
	exchange(t, &a[0][5], &b[0][5]);
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++)
			CHECK(b[i][j] == (j >= 5 && j < 8 ? last * 100000 + i * COLUMNS + j : 0));
	MPI_Type_create_struct(3, lengths, places, types, &t);
	MPI_Type_commit(&t);
	exchange(t, &x, &y);
	CHECK(y.c == 'a' + last && y.d == last + 0.5 && y.i[0] == last && y.i[1] == -last && y.i[2] == 3);
	memset(b, 0, sizeof b);
	{
		int counts[3] = {1, 2000, 7};
		MPI_Aint at[3] = {4, 400, 40000};

		MPI_Type_create_hindexed(3, counts, at, MPI_INT, &t);
		MPI_Type_commit(&t);
		exchange(t, a, b);
		for (int i = 0; i < ROWS * COLUMNS; i++) {
			int inside = i == 1 || (i >= 100 && i < 2100) || (i >= 10000 && i < 10007);
			CHECK((&b[0][0])[i] == (inside ? last * 100000 + i : 0));
		}
	}
}

/* Many messages that nobody waits for, taken in an order of the receiver's. */
static void unexpected(int most)
{
	int value, *got;
	MPI_Status st;

	if (rank != 1) {
		for (int i = 0; rank == 0 && i < most; i++)
			MPI_Send(&i, 1, MPI_INT, 1, i % 10, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	got = calloc(10, sizeof *got);
	for (int i = 0; i < most; i++) {
		int tag = i < most / 2 ? 9 - i % 10 : MPI_ANY_TAG;

		MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &st);
		CHECK(value % 10 == st.MPI_TAG && value == got[st.MPI_TAG] * 10 + st.MPI_TAG);
		got[st.MPI_TAG]++;
	}
	free(got);
}

/* Many requests of both kinds under way, of all sizes. */
static void crowd(void)
{
	enum { N = 400, MOST = 40000 };
	MPI_Request r[2 * N];
	char *o = malloc((size_t)N * MOST), *n = malloc((size_t)N * MOST);
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	for (int i = 0; i < N; i++) {
		MPI_Irecv(n + (size_t)i * MOST, MOST, MPI_BYTE, last, i, MPI_COMM_WORLD, &r[i]);
		fill(o + (size_t)i * MOST, i * 100, rank * 1000 + i);
		MPI_Isend(o + (size_t)i * MOST, i * 100, MPI_BYTE, next, i, MPI_COMM_WORLD, &r[N + i]);
	}
	MPI_Waitall(2 * N, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < N; i++)
		CHECK(filled(n + (size_t)i * MOST, i * 100, last * 1000 + i));
	free(o);
	free(n);
}

int main(int argc, char **argv)
{
	void *attached = NULL;
	int n = LARGEST + (1 << 20);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	out = malloc(LARGEST);
	in = malloc(LARGEST);
	MPI_Buffer_attach(malloc((size_t)n), n);
	PART(modes());
	PART(synchronous());
	PART(probes());
	PART(cancels());
	PART(truncation());
	PART(persistent());
	PART(datatypes());
	PART(unexpected(argc > 1 ? atoi(argv[1]) : 10000));
	PART(crowd());
	MPI_Buffer_detach(&attached, &n);
	free(attached);
	return verdict("messages");
}
