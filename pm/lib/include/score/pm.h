/*
 * NAME
 *	score/pm.h - messages between the ranks of a job, at user level
 *
 * SYNOPSIS
 *	cc program.c $(pkg-config --cflags --libs score)
 *	scrun --channels 1 -n 4 ./a.out
 *
 * DESCRIPTION
 *	A rank opens a channel by its number, 1 to 15, and exchanges messages of up to
 *	score_pm_max_message() bytes with the same channel of other ranks. With scrun --channels N a
 *	rank may open N of them; what the library needs to know is in the environment. The messages of
 *	a sender arrive once and in order. Inside a node a message is one write into the receiver's
 *	memory; between nodes it is a datagram that is repeated until it arrives.
 *
 *	One thread uses a channel at a time. No call blocks but score_pm_wait and
 *	score_pm_wait_space, and score_pm_receive while the tail of a message is still being written.
 *
 * RETURN VALUE
 *	Calls return 0 or more on success, and a negative number of errno.h on failure, of which
 *	score_strerror returns a sentence.
 *
 * ERRORS
 *	-EAGAIN		not now: no space, or no message. Receive what waits, or wait
 *	-EINVAL		no such rank, channel or handle; a message that is given back twice
 *	-EMSGSIZE	the message is too long, or has not so many bytes
 *	-EFAULT		memory was to be given, and is not there
 *	-ECONNRESET	the peer died
 *	-ENOTCONN	the peer closed its channel
 *	-EBUSY		the channel is open already, in this process or in another one of the rank
 *	-ENOBUFS	the job was not given so many channels
 *	-ENODATA	the program was not started by scrun with channels
 *	-EHOSTDOWN	the node's agent does not answer
 *	-ENOMEM		the node has no memory for the channel
 *	-EPROTONOSUPPORT	the peer uses another flow control (PM_FLOW)
 *	-EUSERS		the job has more ranks on other nodes than there are places for credits
 *	-EBADMSG	the memory of the channel says impossible things
 *	-EOPNOTSUPP	the process is a child of fork: channels are its parent's
 */
#ifndef SCORE_PM_H
#define SCORE_PM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A received message, in the library's memory until score_pm_release. */
typedef struct {
	const void *data;
	size_t length; /* bytes */
	int source;    /* rank of the sender */
	int id;        /* the library's */
} score_pm_message;

/* Opens a channel and returns its handle. */
int score_pm_open(int number);

/* Closes it. Peers that send to it get -ENOTCONN; messages not received are lost. */
int score_pm_close(int channel);

/* This rank's number, and how many ranks the job has. */
int score_pm_rank(int channel);
int score_pm_size(int channel);

/* The length of the longest message, in bytes; 0 if there is no such channel. */
size_t score_pm_max_message(int channel);

/* Whether messages to the rank go through memory: 1 or 0. */
int score_pm_same_node(int channel, int rank);

/* Sends a copy of a message. */
int score_pm_send(int channel, int rank, const void *data, size_t length);

/*
 * Returns a buffer for a message, to be filled and sent by score_pm_commit; with a lane it is the
 * receiver's memory. NULL with *error set on failure. A channel has one such buffer at a time: another
 * call gives up the last one. score_pm_commit leaves the buffer as it is if it returns -EAGAIN.
 */
void *score_pm_get_send_buffer(int channel, int rank, size_t length, int *error);
int score_pm_commit(int channel);

/* The length of the longest message to the rank that would be taken now; -EAGAIN: none would. */
ssize_t score_pm_room(int channel, int rank);

/*
 * Takes the next message, in place. -ECONNRESET says once of each rank that it died, after all its
 * messages.
 */
int score_pm_receive(int channel, score_pm_message *message);

/* Gives its memory back, in any order. */
int score_pm_release(int channel, const score_pm_message *message);

/* Whether score_pm_receive has something to return: 1 or 0. */
int score_pm_poll(int channel);

/*
 * Waits until there is something to receive, at most so many milliseconds, or without end if that is
 * negative. 0: there is something; -EAGAIN: the time is over.
 */
int score_pm_wait(int channel, int milliseconds);

/*
 * Waits as long at most until a message of the length to the rank would be taken, or there is
 * something to receive: the peer may be waiting for space, too.
 */
int score_pm_wait_space(int channel, int rank, size_t length, int milliseconds);

/* The sentence of an error, positive or negative. It lasts as long as the program. */
const char *score_strerror(int error);

#ifdef __cplusplus
}
#endif
#endif
