/* Exchanges messages over channels 2 (PM) and 3 (SkifCh) with the next rank, and checks them. */
#include <errno.h>
#include <score/pm.h>
#include <score/skifch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "pmchannel: %s\n", what);
		exit(1);
	}
}

static void fill(unsigned char *to, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)(i * 7 + seed);
}

static void pm(void)
{
	static unsigned char out[65536], want[65536];
	static const size_t sizes[] = {0, 8, 48, 5000, 65536};
	int ch = score_pm_open(2), me, n, to, from;

	check(ch >= 0, "no channel 2");
	check(score_pm_open(2) == -EBUSY, "channel 2 was opened twice");
	check(score_pm_open(99) == -EINVAL, "channel 99 was opened");
	me = score_pm_rank(ch), n = score_pm_size(ch), to = (me + 1) % n, from = (me + n - 1) % n;
	check(score_pm_send(ch, n, out, 1) == -EINVAL, "a rank that there is not");
	check(score_pm_send(ch, to, out, score_pm_max_message(ch) + 1) == -EMSGSIZE, "a message too long");
	for (int turn = 0; turn < 500; turn++) {
		size_t size = sizes[turn % 5];
		score_pm_message m;
		int err;

		if (turn % 2) {
			fill(out, size, me + turn);
			while ((err = score_pm_send(ch, to, out, size)) == -EAGAIN)
				;
		} else {
			void *buf;
			while (!(buf = score_pm_get_send_buffer(ch, to, size, &err)) && err == -EAGAIN)
				;
			if (buf)
				fill(buf, size, me + turn);
			while (err == 0 && (err = score_pm_commit(ch)) == -EAGAIN)
				err = 0;
		}
		check(err == 0, "send");
		while ((err = score_pm_receive(ch, &m)) == -EAGAIN)
			check(score_pm_wait(ch, 20000) == 0, "wait");
		fill(want, size, from + turn);
		check(err == 0 && m.source == from && m.length == size && memcmp(m.data, want, size) == 0, "receive");
		check(score_pm_release(ch, &m) == 0, "release");
		check(score_pm_release(ch, &m) < 0, "released twice");
	}
	check(score_pm_close(ch) == 0 && score_pm_close(ch) == -EINVAL, "close");
}

static void skif(void)
{
	static unsigned char out[20000];
	int ch = skifch_open(3), me, n, to;

	check(ch >= 0, "no channel 3");
	me = skifch_rank(ch), n = skifch_size(ch), to = (me + 1) % n;
	fill(out, sizeof out, 1);
	for (int turn = 0; turn < 200; turn++) {
		struct iovec pieces[3] = {{out, 100}, {out + 100, 10000}, {out + 10100, 9900}};
		skifch_message m;
		size_t at = 0;
		ssize_t sent;
		int err;

		while ((sent = skifch_send(ch, to, pieces, 3)) == -EAGAIN)
			;
		check(sent > 0, "skifch_send");
		while ((err = skifch_recv(ch, &m)) == -EAGAIN)
			;
		check(err == 0 && m.size <= sizeof out && skifch_wait(ch, &m, m.size) == 0 && m.there == m.size, "skifch_recv");
		for (int i = 0; i < m.pieces; at += m.piece[i++].iov_len)
			check(memcmp(m.piece[i].iov_base, out + at, m.piece[i].iov_len) == 0, "a piece");
		check(skifch_recv_comp(ch) == 0 && skifch_recv_comp(ch) == -EINVAL, "skifch_recv_comp");
	}
	check(skifch_close(ch) == 0, "skifch_close");
}

int main(void)
{
	pm();
	skif();
	puts("well");
	return 0;
}
