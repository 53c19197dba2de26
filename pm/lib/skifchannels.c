/* The calls of score/skifch.h, as channels.c has those of score/pm.h. */
#include <errno.h>

#include "_cgo_export.h"
#include "enter.h"
#include "forked.h"

int skifch_open(int number)
{
	pm_visit();
	return pm_forked ? -EOPNOTSUPP : go_skifch_open(number);
}

int skifch_close(int ch) { return pm_forked ? -EOPNOTSUPP : go_skifch_close(ch); }
int skifch_rank(int ch) { return pm_forked ? -EOPNOTSUPP : go_skifch_rank(ch); }
int skifch_size(int ch) { return pm_forked ? -EOPNOTSUPP : go_skifch_size(ch); }

ssize_t skifch_send(int ch, int rank, const struct iovec *pieces, int count)
{
	if (pm_forked)
		return -EOPNOTSUPP;
	if (count < 0 || count > SKIFCH_MAX_PIECES)
		return -EINVAL;
	if (!pieces && count)
		return -EFAULT;
	for (int i = 0; i < count; i++)
		if (!pieces[i].iov_base && pieces[i].iov_len)
			return -EFAULT;
	return go_skifch_send(ch, rank, (struct iovec *)pieces, count);
}

int skifch_recv(int ch, skifch_message *to)
{
	if (pm_forked)
		return -EOPNOTSUPP;
	return to ? go_skifch_recv(ch, to) : -EFAULT;
}

int skifch_wait(int ch, skifch_message *to, size_t bytes)
{
	if (pm_forked)
		return -EOPNOTSUPP;
	return to ? go_skifch_wait(ch, to, bytes) : -EFAULT;
}

int skifch_recv_comp(int ch) { return pm_forked ? -EOPNOTSUPP : go_skifch_recv_comp(ch); }
