/*
 * Open MPI's mtl/ofi, of 4 and of 5.0, loses what MPI_Mrecv and MPI_Imrecv receive into a type whose bytes
 * are not in one piece, as a column of a matrix: it does not unpack them, and reports no error. Here such a
 * message is received in one piece, and unpacked. MPI_Imrecv waits for it, since its sender has sent it.
 */
#include "openmpimatched.h"

#include <limits.h>
#include <stdlib.h>

#define COMBINER_NAMED 0 /* MPI_COMBINER_NAMED */
#define ERR_OTHER 16     /* MPI_ERR_OTHER */

typedef ptrdiff_t aint;

struct status { /* MPI_Status */
	int source, tag, error, cancelled;
	size_t bytes;
};

typedef int query(void *state, struct status *);
typedef int release(void *state);
typedef int cancel(void *state, int complete);

static struct {
	pm_receive_matched *imrecv;
	pm_receive_matched *mrecv;
	int (*envelope)(void *type, int *integers, int *addresses, int *types, int *combiner);
	int (*type_size)(void *type, int *bytes);
	int (*extent)(void *type, aint *begin, aint *bytes);
	int (*true_extent)(void *type, aint *begin, aint *bytes);
	int (*pack)(const void *from, int count, void *type, void *to, int room, int *at, void *comm);
	int (*unpack)(const void *from, int bytes, int *at, void *to, int count, void *type, void *comm);
	int (*start)(query *, release *, cancel *, void *state, void **request);
	int (*complete)(void *request);
	void *byte, *self; /* MPI_BYTE, MPI_COMM_SELF */
} mpi;

/* The shape of a buffer: count pieces of size bytes, each extent bytes behind the one before. */
struct shape {
	char *buffer;
	size_t count;
	void *type;
	int size;
	aint extent;
};

/* in_pieces reports whether Open MPI would not store the bytes of a type. */
static int in_pieces(struct shape *s)
{
	int integers, addresses, types, combiner;
	aint begin, true_begin, true_bytes;

	if (s->count == 0 || mpi.type_size(s->type, &s->size) || s->size <= 0 || mpi.extent(s->type, &begin, &s->extent))
		return 0;
	if (mpi.envelope(s->type, &integers, &addresses, &types, &combiner) || mpi.true_extent(s->type, &true_begin, &true_bytes))
		return 0;
	return combiner != COMBINER_NAMED || true_bytes != s->size || s->extent != s->size;
}

/* move packs the buffer, or unpacks it; MPI counts the bytes of a call as an int. */
static int move(const struct shape *s, char *packed, int unpack)
{
	size_t most = INT_MAX / (size_t)s->size, done, n;

	for (done = 0; done < s->count; done += n) {
		char *place = s->buffer + (aint)done * s->extent, *piece = packed + done * (size_t)s->size;
		int bytes, at = 0, err;

		n = s->count - done < most ? s->count - done : most;
		bytes = (int)(n * (size_t)s->size);
		err = unpack ? mpi.unpack(piece, bytes, &at, place, (int)n, s->type, mpi.self)
			     : mpi.pack(place, (int)n, s->type, piece, bytes, &at, mpi.self);
		if (err)
			return err;
	}
	return 0;
}

/*
 * receive receives a message in one piece. What is in the buffer is packed before, so that a message that is
 * shorter leaves the rest as it was.
 */
static int receive(const struct shape *s, void **message, struct status *status)
{
	size_t bytes = s->count * (size_t)s->size;
	char *packed = malloc(bytes);
	int err;

	if (!packed)
		return ERR_OTHER;
	err = move(s, packed, 0);
	if (!err)
		err = mpi.mrecv(packed, bytes, mpi.byte, message, status);
	if (!err)
		err = move(s, packed, 1);
	free(packed);
	return err;
}

static int mrecv(void *buffer, size_t count, void *type, void **message, void *status)
{
	struct shape s = {.buffer = buffer, .count = count, .type = type};

	return in_pieces(&s) ? receive(&s, message, status) : mpi.mrecv(buffer, count, type, message, status);
}

static int tell(void *state, struct status *status)
{
	*status = *(struct status *)state;
	return status->error;
}

static int forget(void *state)
{
	free(state);
	return 0;
}

static int ignore(void *state, int complete)
{
	(void)state;
	(void)complete;
	return 0;
}

static int imrecv(void *buffer, size_t count, void *type, void **message, void *request)
{
	struct shape s = {.buffer = buffer, .count = count, .type = type};
	struct status *status;
	int err;

	if (!in_pieces(&s))
		return mpi.imrecv(buffer, count, type, message, request);
	status = calloc(1, sizeof *status);
	if (!status)
		return ERR_OTHER;
	err = receive(&s, message, status);
	if (!err)
		err = mpi.start(tell, forget, ignore, status, request);
	if (err) {
		free(status);
		return err;
	}
	return mpi.complete(*(void **)request);
}

void pm_mend_matched(void *library, pm_receive_matched **nonblocking, pm_receive_matched **blocking)
{
	if (!pm_found(&mpi.envelope, library, "PMPI_Type_get_envelope") || !pm_found(&mpi.type_size, library, "PMPI_Type_size") ||
	    !pm_found(&mpi.extent, library, "PMPI_Type_get_extent") || !pm_found(&mpi.true_extent, library, "PMPI_Type_get_true_extent") ||
	    !pm_found(&mpi.pack, library, "PMPI_Pack") || !pm_found(&mpi.unpack, library, "PMPI_Unpack") ||
	    !pm_found(&mpi.start, library, "PMPI_Grequest_start") || !pm_found(&mpi.complete, library, "PMPI_Grequest_complete") ||
	    !pm_found(&mpi.byte, library, "ompi_mpi_byte") || !pm_found(&mpi.self, library, "ompi_mpi_comm_self"))
		return;
	mpi.imrecv = *nonblocking;
	mpi.mrecv = *blocking;
	*nonblocking = imrecv;
	*blocking = mrecv;
}
