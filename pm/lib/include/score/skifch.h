/*
 * NAME
 *	score/skifch.h - SkifCh: three calls for people who build communication libraries
 *
 * SYNOPSIS
 *	cc library.c $(pkg-config --cflags --libs score)
 *	scrun --channels 1 -n 4 ./a.out
 *
 * DESCRIPTION
 *	skifch_send sends one message made of pieces, or a leading part of it, and never buffers.
 *	skifch_recv returns the next message in place at once, while its tail may still be arriving.
 *	skifch_recv_comp gives its memory back. One receive yields what one send sent. Messages of one
 *	sender arrive in order, those of different senders in any. Each library of a program opens a
 *	channel of its own, which has an address at each rank. Numbers of channels are those of
 *	score/pm.h: a channel is open as one or the other.
 *
 *	One thread uses a channel at a time. No call blocks but skifch_wait, and skifch_recv_comp while
 *	the tail of the message is still being written.
 *
 * RETURN VALUE
 *	Calls return 0 or more on success, and a negative number of errno.h on failure, of which
 *	score_strerror returns a sentence.
 *
 * ERRORS
 *	Those of score/pm.h.
 */
#ifndef SCORE_SKIFCH_H
#define SCORE_SKIFCH_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The greatest number of pieces that skifch_recv returns. */
#define SKIFCH_CONT_SIZE 3

/* The greatest number of pieces that skifch_send takes, as of writev. */
#define SKIFCH_MAX_PIECES 1024

typedef struct {
	size_t size;   /* of the message, in bytes */
	size_t there;  /* bytes that have arrived, in the pieces */
	int source;    /* rank of the sender */
	int pieces;    /* how many of piece are used */
	struct iovec piece[SKIFCH_CONT_SIZE];
} skifch_message;

/* Opens a channel and returns its handle; closes it. */
int skifch_open(int number);
int skifch_close(int channel);

/* This rank's number, and how many ranks the job has. */
int skifch_rank(int channel);
int skifch_size(int channel);

/* Sends the pieces as one message, or a leading part; returns how many bytes went, or -EAGAIN. */
ssize_t skifch_send(int channel, int rank, const struct iovec *pieces, int count);

/* Receives the next message, in place; -EAGAIN: there is none. */
int skifch_recv(int channel, skifch_message *message);

/*
 * Waits until so many bytes of the message received last have arrived, and updates its pieces.
 * -EINVAL if it was completed.
 */
int skifch_wait(int channel, skifch_message *message, size_t bytes);

/* Gives back the memory of the message that was received first and not completed yet. */
int skifch_recv_comp(int channel);

#ifdef __cplusplus
}
#endif
#endif
