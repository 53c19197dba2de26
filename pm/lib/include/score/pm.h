/*
 * score/pm.h - messages between the ranks of a job, at user level
 *
 * Link with -lscore, start the program with scrun --channels N for N channels of each rank.
 *
 * A rank opens a channel by its number, 1 to 15, and exchanges messages of up to
 * score_pm_max_message() bytes with the same channel of other ranks. The messages of a sender arrive
 * once and in order. Inside a node a message is one write into the receiver's memory; between nodes
 * it is a datagram that is repeated until it arrives.
 *
 * Calls return 0 or more on success, and a negative number of errno.h on failure:
 *
 *	-EAGAIN		not now: no space, or no message. Receive what waits, or score_pm_wait
 *	-EMSGSIZE	the message is too long
 *	-EINVAL		no such rank, channel or handle
 *	-ECONNRESET	the peer died
 *	-ENOTCONN	the peer closed its channel
 *	-EBUSY		the channel is open already
 *	-ENOBUFS	the job was not given so many channels
 *	-ENODATA	the program was not started by scrun with channels
 *	-EHOSTDOWN	the node's agent does not answer
 *
 * One thread uses a channel at a time. No call blocks but score_pm_wait, and score_pm_receive while
 * the tail of a message is still being written.
 */
#ifndef SCORE_PM_H
#define SCORE_PM_H

#include <stddef.h>
#include <stdint.h>

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

/* The length of the longest message, in bytes. */
size_t score_pm_max_message(int channel);

/* Whether messages to the rank go through memory: 1 or 0. */
int score_pm_same_node(int channel, int rank);

/* Sends a copy of a message. */
int score_pm_send(int channel, int rank, const void *data, size_t length);

/*
 * Returns a buffer for a message, to be filled and sent by score_pm_commit; with a lane it is the
 * receiver's memory. NULL with *error set on failure. A channel has one such buffer at a time.
 */
void *score_pm_get_send_buffer(int channel, int rank, size_t length, int *error);
int score_pm_commit(int channel);

/* Takes the next message, in place. */
int score_pm_receive(int channel, score_pm_message *message);

/* Gives its memory back, in any order. */
int score_pm_release(int channel, const score_pm_message *message);

/*
 * Waits until there is something to receive, at most so many milliseconds, or without end if that is
 * negative. 0: there is something; -EAGAIN: the time is over.
 */
int score_pm_wait(int channel, int milliseconds);

#ifdef __cplusplus
}
#endif
#endif
