/*
 * Rank 1 dies amid messages, killed or by an exit without closing its channel (argument 1), in a job
 * of three that goes on without it (scrun --recover). The others get all its messages, then are told
 * once, and go on with each other.
 */
#include <errno.h>
#include <score/pm.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEAD = 1, MESSAGES = 100, AFTER = 1000, SIZE = 3000, PATIENCE_MS = 30000 };

static int ch, self, ranks;

static void want(long got, long wanted, const char *what)
{
	if (got == wanted)
		return;
	fprintf(stderr, "wrong: rank %d: %s: %ld (%s), want %ld\n", self, what, got, score_strerror((int)got), wanted);
	exit(1);
}

#define WANT(wanted, call) want((call), (wanted), #call)

static void send_to(int rank, int number)
{
	char data[SIZE];
	int err;

	memset(data, number, sizeof data);
	while ((err = score_pm_send(ch, rank, data, sizeof data)) == -EAGAIN)
		WANT(0, score_pm_wait_space(ch, rank, sizeof data, PATIENCE_MS));
	WANT(0, err);
}

/* Takes a message, whose number within its sender's must be right. Returns its source, or the error. */
static int take(int *count)
{
	score_pm_message m;
	int err;

	while ((err = score_pm_receive(ch, &m)) == -EAGAIN)
		WANT(0, score_pm_wait(ch, PATIENCE_MS));
	if (err)
		return err;
	WANT(SIZE, (long)m.length);
	WANT((char)count[m.source], *(const char *)m.data);
	WANT(0, memcmp(m.data, (const char *)m.data + 1, SIZE - 1));
	count[m.source]++;
	WANT(0, score_pm_release(ch, &m));
	return m.source;
}

static void die(const char *how)
{
	for (int i = 0; i < MESSAGES; i++)
		for (int rank = 0; rank < ranks; rank++)
			if (rank != DEAD)
				send_to(rank, i);
	if (!strcmp(how, "killed"))
		raise(SIGKILL);
	_exit(3);
}

/* Whatever is asked of the dead rank has this answer. */
static void asks_the_dead(void)
{
	int error = 0;

	WANT(-ECONNRESET, score_pm_send(ch, DEAD, "x", 1));
	WANT(-ECONNRESET, score_pm_room(ch, DEAD));
	WANT(1, score_pm_get_send_buffer(ch, DEAD, 1, &error) == NULL);
	WANT(-ECONNRESET, error);
}

/* Rank 0 speaks with rank 2 after it was told. */
static void first(int *count)
{
	score_pm_message m;
	int got;

	while ((got = take(count)) == DEAD)
		;
	WANT(-ECONNRESET, got);
	WANT(MESSAGES, count[DEAD]);
	asks_the_dead();
	WANT(-ECONNRESET, score_pm_wait_space(ch, DEAD, 1, PATIENCE_MS));
	WANT(-EAGAIN, score_pm_receive(ch, &m)); /* it is told once */
	WANT(-EAGAIN, score_pm_wait(ch, 0));
	for (int i = 0; i < AFTER; i++) {
		send_to(2, i);
		WANT(2, take(count));
	}
}

/* Rank 2 may be told at any time. */
static void second(int *count)
{
	int told = 0, answered = 0, got;

	while (!told || answered < AFTER) {
		got = take(count);
		if (got == 0) {
			send_to(0, answered++);
		} else if (got != DEAD) {
			WANT(-ECONNRESET, got);
			WANT(0, told++);
			WANT(MESSAGES, count[DEAD]);
		}
	}
	asks_the_dead();
}

int main(int argc, char **argv)
{
	int count[3] = {0};

	if (argc != 2)
		return 2;
	ch = score_pm_open(1);
	self = score_pm_rank(ch), ranks = score_pm_size(ch);
	WANT(3, ranks);
	if (self == DEAD)
		die(argv[1]);
	else if (self == 0)
		first(count);
	else
		second(count);
	WANT(0, score_pm_close(ch));
	puts("goes on");
	return 0;
}
