/*
 * Calls of score/pm.h and score/skifch.h with what is wrong, by two ranks: each returns its error, and
 * the program goes on. Outside a job (argument "outside") nothing opens.
 */
#include <errno.h>
#include <score/pm.h>
#include <score/skifch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUGE_LENGTH ((size_t)-1)
#define PATIENCE_MS 20000

static void want(long got, long error, const char *what)
{
	if (got == error)
		return;
	fprintf(stderr, "wrong: %s: %ld (%s), want %ld\n", what, got, score_strerror((int)got), error);
	exit(1);
}

#define WANT(error, call) want((call), (error), #call)

static void no_handle(int ch)
{
	score_pm_message m = {0};
	skifch_message s = {0};
	int error = 0;

	WANT(-EINVAL, score_pm_close(ch));
	WANT(-EINVAL, score_pm_rank(ch));
	WANT(-EINVAL, score_pm_size(ch));
	WANT(0, (long)score_pm_max_message(ch));
	WANT(-EINVAL, score_pm_same_node(ch, 0));
	WANT(-EINVAL, score_pm_send(ch, 0, "x", 1));
	WANT(1, score_pm_get_send_buffer(ch, 0, 1, &error) == NULL);
	WANT(-EINVAL, error);
	WANT(1, score_pm_get_send_buffer(ch, 0, 1, NULL) == NULL);
	WANT(-EINVAL, score_pm_commit(ch));
	WANT(-EINVAL, score_pm_room(ch, 0));
	WANT(-EINVAL, score_pm_receive(ch, &m));
	WANT(-EINVAL, score_pm_release(ch, &m));
	WANT(-EINVAL, score_pm_poll(ch));
	WANT(-EINVAL, score_pm_wait(ch, 0));
	WANT(-EINVAL, score_pm_wait_space(ch, 0, 1, 0));
	WANT(-EINVAL, skifch_close(ch));
	WANT(-EINVAL, skifch_rank(ch));
	WANT(-EINVAL, skifch_size(ch));
	WANT(-EINVAL, skifch_send(ch, 0, NULL, 0));
	WANT(-EINVAL, skifch_recv(ch, &s));
	WANT(-EINVAL, skifch_wait(ch, &s, 0));
	WANT(-EINVAL, skifch_recv_comp(ch));
}

static void pm_arguments(int ch, int self, int ranks)
{
	char byte = 'x';
	score_pm_message m = {.id = 7};
	int error;

	WANT(-EBUSY, score_pm_open(2));
	WANT(-EBUSY, skifch_open(2));
	WANT(-EINVAL, score_pm_same_node(ch, ranks));
	WANT(-EINVAL, score_pm_same_node(ch, -1));
	WANT(-EINVAL, score_pm_send(ch, ranks, &byte, 1));
	WANT(-EINVAL, score_pm_send(ch, -1, &byte, 1));
	WANT(-EFAULT, score_pm_send(ch, self, NULL, 1));
	WANT(-EMSGSIZE, score_pm_send(ch, self, &byte, score_pm_max_message(ch) + 1));
	WANT(-EMSGSIZE, score_pm_send(ch, self, &byte, HUGE_LENGTH));
	WANT(1, score_pm_get_send_buffer(ch, self, HUGE_LENGTH, &error) == NULL);
	WANT(-EMSGSIZE, error);
	WANT(1, score_pm_get_send_buffer(ch, ranks, 1, &error) == NULL);
	WANT(-EINVAL, error);
	WANT(-EINVAL, score_pm_commit(ch));
	WANT(-EINVAL, score_pm_room(ch, ranks));
	WANT(-EINVAL, score_pm_wait_space(ch, ranks, 1, 0));
	WANT(-EMSGSIZE, score_pm_wait_space(ch, self, HUGE_LENGTH, 0));
	WANT(-EFAULT, score_pm_receive(ch, NULL));
	WANT(-EFAULT, score_pm_release(ch, NULL));
	WANT(-EINVAL, score_pm_release(ch, &m));
	m.id = -1;
	WANT(-EINVAL, score_pm_release(ch, &m));
	WANT(0, score_pm_poll(ch));
	WANT(-EAGAIN, score_pm_receive(ch, &m));
	WANT(-EAGAIN, score_pm_wait(ch, 0));
	WANT(-EAGAIN, score_pm_wait(ch, 1));
}

/* A buffer is there also without a lane, as for the first messages, and for no bytes; another call gives it up. */
static void buffers(int ch, int self)
{
	score_pm_message m;
	int error;
	char *buf;

	for (size_t n = 0; n < 4000; n += 1000) {
		WANT(1, score_pm_get_send_buffer(ch, self, 10, &error) != NULL);
		buf = score_pm_get_send_buffer(ch, self, n, &error);
		WANT(1, buf != NULL);
		WANT(0, error);
		memset(buf, 'b', n);
		WANT(0, score_pm_commit(ch));
		WANT(-EINVAL, score_pm_commit(ch));
		WANT(0, score_pm_wait(ch, PATIENCE_MS));
		WANT(0, score_pm_receive(ch, &m));
		WANT((long)n, (long)m.length);
		WANT(1, n == 0 || (*(char *)m.data == 'b' && memcmp(m.data, (char *)m.data + 1, n - 1) == 0));
		WANT(0, score_pm_release(ch, &m));
	}
}

/* The space for messages ends, comes again as the receiver takes them, and nothing is lost. */
static void space(int ch, int self)
{
	static char block[4096];
	long sent = 0;
	score_pm_message m;
	int err;

	WANT(1, score_pm_room(ch, self) >= (ssize_t)sizeof block);
	while ((err = score_pm_send(ch, self, block, sizeof block)) == 0)
		sent++;
	WANT(-EAGAIN, err);
	WANT(1, score_pm_room(ch, self) < (ssize_t)sizeof block);
	WANT(0, score_pm_wait_space(ch, self, sizeof block, PATIENCE_MS)); /* there is something to receive */
	WANT(1, score_pm_poll(ch));
	for (long taken = 0; taken < sent; taken++) {
		WANT(0, score_pm_wait(ch, PATIENCE_MS));
		WANT(0, score_pm_receive(ch, &m));
		WANT((long)sizeof block, (long)m.length);
		WANT(0, score_pm_release(ch, &m));
	}
	WANT(0, score_pm_wait_space(ch, self, sizeof block, PATIENCE_MS));
	WANT(-EAGAIN, score_pm_receive(ch, &m));
}

/* Leaves channel 4 open, on which nobody has sent yet, and returns it. */
static int skifch_arguments(int self, int ranks)
{
	char byte = 'x';
	struct iovec one = {&byte, 1}, null = {NULL, 1};
	static struct iovec many[SKIFCH_MAX_PIECES + 1];
	skifch_message s;
	int ch = skifch_open(3);

	WANT(3, ch);
	WANT(4, score_pm_open(4));
	WANT(-ENOBUFS, score_pm_open(5)); /* the job has three */
	WANT(self, skifch_rank(ch));
	WANT(ranks, skifch_size(ch));
	WANT(-EINVAL, skifch_send(ch, ranks, &one, 1));
	WANT(-EINVAL, skifch_send(ch, self, &one, -1));
	WANT(-EINVAL, skifch_send(ch, self, many, SKIFCH_MAX_PIECES + 1));
	WANT(-EFAULT, skifch_send(ch, self, NULL, 1));
	WANT(-EFAULT, skifch_send(ch, self, &null, 1));
	WANT(-EFAULT, skifch_recv(ch, NULL));
	WANT(-EAGAIN, skifch_recv(ch, &s));
	WANT(-EINVAL, skifch_wait(ch, &s, 0)); /* nothing was received */
	WANT(-EINVAL, skifch_recv_comp(ch));
	WANT(1, skifch_send(ch, self, &one, 1));
	while (skifch_recv(ch, &s) == -EAGAIN)
		;
	WANT(-EFAULT, skifch_wait(ch, NULL, 1));
	WANT(-EMSGSIZE, skifch_wait(ch, &s, 2));
	WANT(-EMSGSIZE, skifch_wait(ch, &s, HUGE_LENGTH));
	WANT(0, skifch_wait(ch, &s, 1));
	WANT('x', *(char *)s.piece[0].iov_base);
	WANT(0, skifch_recv_comp(ch));
	WANT(-EINVAL, skifch_wait(ch, &s, 1)); /* it was completed */
	WANT(0, skifch_close(ch));
	return 4;
}

/* A child of fork has no channel, and its end leaves its parent's alone. */
static void child(int ch)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int wrong = score_pm_send(ch, 0, "x", 1) != -EOPNOTSUPP || score_pm_open(3) != -EOPNOTSUPP ||
			    skifch_open(3) != -EOPNOTSUPP || score_pm_wait(ch, -1) != -EOPNOTSUPP ||
			    score_pm_close(ch) != -EOPNOTSUPP;
		exit(wrong);
	}
	waitpid(pid, &status, 0);
	WANT(0, status);
}

/* Rank 1 closes its channel, and rank 0 is told. On no other channel does a rank send to the other. */
static void closed_peer(int ch, int self)
{
	score_pm_message m;
	int err;

	if (self == 1) {
		WANT(0, score_pm_wait(ch, PATIENCE_MS));
		WANT(0, score_pm_receive(ch, &m));
		WANT(0, score_pm_release(ch, &m));
		WANT(0, score_pm_close(ch));
		WANT(-EINVAL, score_pm_close(ch));
		return;
	}
	WANT(0, score_pm_send(ch, 1, "x", 1));
	while ((err = score_pm_send(ch, 1, "y", 1)) == 0 || err == -EAGAIN)
		score_pm_wait_space(ch, 1, 1, 1);
	WANT(-ENOTCONN, err);
	WANT(0, score_pm_close(ch));
}

/* Another process of the rank opens channel 2: this program again, with an argument. */
static void second_process(const char *how)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "wrong", how, NULL);
		_exit(9);
	}
	WANT(pid, waitpid(pid, &status, 0));
	WANT(0, status);
}

int main(int argc, char **argv)
{
	static const int errors[] = {EAGAIN, EINVAL, EMSGSIZE, EFAULT, ECONNRESET, ENOTCONN, EBUSY, ENOBUFS, ENODATA,
				     EHOSTDOWN, ENOMEM, EPROTONOSUPPORT, EUSERS, EBADMSG, EOPNOTSUPP};
	int ch, self, ranks, last;

	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		WANT(0, strcmp(score_strerror(errors[i]), score_strerror(-errors[i])));
		WANT(0, strlen(score_strerror(errors[i])) < 10);
	}
	WANT(0, strcmp(score_strerror(-ENOENT), strerror(ENOENT)));
	if (argc > 1 && strcmp(argv[1], "busy") == 0) {
		WANT(-EBUSY, score_pm_open(2));
		WANT(-EBUSY, skifch_open(2));
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "free") == 0) {
		WANT(2, score_pm_open(2));
		return 0;
	}
	if (argc > 1) {
		WANT(-ENODATA, score_pm_open(2));
		WANT(-ENODATA, skifch_open(2));
		puts("nothing opens");
		return 0;
	}
	for (int bad = -1; bad < 17; bad++)
		no_handle(bad);
	WANT(-EINVAL, score_pm_open(0));
	WANT(-EINVAL, score_pm_open(16));
	WANT(-EINVAL, skifch_open(-1));
	ch = score_pm_open(2);
	WANT(2, ch);
	self = score_pm_rank(ch), ranks = score_pm_size(ch);
	pm_arguments(ch, self, ranks);
	buffers(ch, self);
	space(ch, self);
	last = skifch_arguments(self, ranks);
	child(ch);
	second_process("busy");
	closed_peer(last, self);
	WANT(0, score_pm_close(ch));
	second_process("free"); /* which leaves it open */
	second_process("free");
	puts("each error as it should be");
	return 0;
}
