/*
 * The calls of score/pm.h: arguments are checked here, before Go is entered, and a child
 * of fork does not enter Go.
 */
#include <errno.h>

#include "_cgo_export.h"
#include "common.h"
#include "enter.h"
#include "forked.h"

int score_pm_open(int number)
{
	pm_visit();
	return pm_forked ? -EOPNOTSUPP : go_pm_open(number);
}

int score_pm_close(int ch) { return pm_forked ? -EOPNOTSUPP : go_pm_close(ch); }
int score_pm_rank(int ch) { return pm_forked ? -EOPNOTSUPP : go_pm_rank(ch); }
int score_pm_size(int ch) { return pm_forked ? -EOPNOTSUPP : go_pm_size(ch); }
size_t score_pm_max_message(int ch) { return pm_forked ? 0 : go_pm_max_message(ch); }
int score_pm_same_node(int ch, int rank) { return pm_forked ? -EOPNOTSUPP : go_pm_same_node(ch, rank); }

int score_pm_send(int ch, int rank, const void *data, size_t length)
{
	if (pm_forked)
		return -EOPNOTSUPP;
	if (!data && length)
		return -EFAULT;
	return go_pm_send(ch, rank, (void *)data, length);
}

void *score_pm_get_send_buffer(int ch, int rank, size_t length, int *error)
{
	static char empty; /* where a message without bytes is */
	int ignored;
	void *buf;

	if (!error)
		error = &ignored;
	*error = -EOPNOTSUPP;
	if (pm_forked)
		return NULL;
	buf = go_pm_get_send_buffer(ch, rank, length, error);
	return *error == 0 && length == 0 ? &empty : buf;
}

int score_pm_commit(int ch) { return pm_forked ? -EOPNOTSUPP : go_pm_commit(ch); }
ssize_t score_pm_room(int ch, int rank) { return pm_forked ? -EOPNOTSUPP : go_pm_room(ch, rank); }

int score_pm_receive(int ch, score_pm_message *to)
{
	if (pm_forked)
		return -EOPNOTSUPP;
	return to ? go_pm_receive(ch, to) : -EFAULT;
}

int score_pm_release(int ch, const score_pm_message *m)
{
	if (pm_forked)
		return -EOPNOTSUPP;
	return m ? go_pm_release(ch, m->id) : -EFAULT;
}

int score_pm_poll(int ch) { return pm_forked ? -EOPNOTSUPP : go_pm_poll(ch); }
int score_pm_wait(int ch, int milliseconds) { return pm_forked ? -EOPNOTSUPP : go_pm_wait(ch, milliseconds); }

int score_pm_wait_space(int ch, int rank, size_t length, int milliseconds)
{
	return pm_forked ? -EOPNOTSUPP : go_pm_wait_space(ch, rank, length, milliseconds);
}

const char *score_strerror(int error)
{
	if (error > 0)
		error = -error;
	switch (error) {
	case 0:
		return "no error";
	case -EAGAIN:
		return "not now: no space, or no message";
	case -EINVAL:
		return "no such rank, channel, handle or message";
	case -EMSGSIZE:
		return "the message is too long, or has not so many bytes";
	case -EFAULT:
		return "memory was to be given, and is not there";
	case -ECONNRESET:
		return "the peer died";
	case -ENOTCONN:
		return "the peer closed its channel";
	case -EBUSY:
		return "the channel is open already, in this process or in another one of the rank";
	case -ENOBUFS:
		return "the job was not given so many channels: start it with scrun --channels N for N of each rank";
	case -ENODATA:
		return "the program was not started by scrun with channels";
	case -EHOSTDOWN:
		return "the node's agent does not answer";
	case -ENOMEM:
		return "the node has no memory for the channel";
	case -EPROTONOSUPPORT:
		return "the peer uses another flow control (PM_FLOW)";
	case -EUSERS:
		return "the job has more ranks on other nodes than there are places for credits";
	case -EBADMSG:
		return "the memory of the channel says impossible things";
	case -EOPNOTSUPP:
		return "the process is a child of fork: channels are its parent's";
	default:
		return pm_strerror(error);
	}
}
