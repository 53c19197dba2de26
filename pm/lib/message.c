/* Messages and tagged messages. */
#include "objects.h"
#include "openmpi.h"
#include "operation.h"

static ssize_t do_send(struct fid_ep *fid, const void *buf, size_t n, fi_addr_t to, uint64_t tag, uint64_t data, void *context,
		       uint64_t flags)
{
	ssize_t err;

	if (nowhere(buf, n))
		return -FI_EFAULT;
	err = pm_enter();
	if (err)
		return err;
	err = score_send(pm_ep_of(fid)->number, (void *)buf, n, to, tag, data, (uintptr_t)context, flags);
	pm_leave();
	return err;
}

static ssize_t do_peek(struct pm_ep *ep, fi_addr_t from, uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
	bool poll = !soon(&ep->peeks);
	int64_t came = score_peek(ep->number, from, tag, ignore, (uintptr_t)context, flags, poll);

	if (came < 0)
		return came;
	if (came == SCORE_FOUND)
		found(&ep->peeks);
	else if (poll)
		polled(&ep->peeks, came == SCORE_BUSY);
	pm_thread.probes |= came != SCORE_FOUND;
	return 0;
}

static ssize_t do_recv(struct fid_ep *fid, void *buf, size_t n, fi_addr_t from, uint64_t tag, uint64_t ignore, void *context,
		       uint64_t flags)
{
	ssize_t err;

	if (nowhere(buf, n) && !(flags & (FI_PEEK | FI_DISCARD)))
		return -FI_EFAULT;
	if ((flags & (FI_CLAIM | FI_PEEK)) == FI_CLAIM && pm_answers(ignore))
		flags |= PM_ANSWER;
	err = pm_enter();
	if (err)
		return err;
	if (!pm_ep_of(fid)->directed)
		from = FI_ADDR_UNSPEC;
	if (flags & FI_PEEK)
		err = do_peek(pm_ep_of(fid), from, tag, ignore, context, flags);
	else
		err = score_recv(pm_ep_of(fid)->number, buf, n, from, tag, ignore, (uintptr_t)context, flags);
	pm_leave();
	return err;
}

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t n, void *desc, fi_addr_t from, void *context)
{
	return do_recv(ep, buf, n, from, 0, 0, context, pm_ep_of(ep)->rx_flags);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t from, void *context)
{
	const struct iovec *v = only(iov, count);
	return count > 1 ? -FI_EINVAL : msg_recv(ep, v->iov_base, v->iov_len, NULL, from, context);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
	const struct iovec *v = only(m->msg_iov, m->iov_count);
	if (m->iov_count > 1)
		return -FI_EINVAL;
	return do_recv(ep, v->iov_base, v->iov_len, m->addr, 0, 0, m->context, rx_msg_flags(pm_ep_of(ep), flags));
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t n, void *desc, fi_addr_t to, void *context)
{
	return do_send(ep, buf, n, to, 0, 0, context, pm_ep_of(ep)->tx_flags);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t to, void *context)
{
	const struct iovec *v = only(iov, count);
	return count > 1 ? -FI_EINVAL : msg_send(ep, v->iov_base, v->iov_len, NULL, to, context);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
	const struct iovec *v = only(m->msg_iov, m->iov_count);
	if (m->iov_count > 1)
		return -FI_EINVAL;
	return do_send(ep, v->iov_base, v->iov_len, m->addr, 0, m->data, m->context, tx_msg_flags(pm_ep_of(ep), flags));
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t n, fi_addr_t to)
{
	return do_send(ep, buf, n, to, 0, 0, NULL, FI_INJECT | PM_QUIET);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t n, void *desc, uint64_t data, fi_addr_t to, void *context)
{
	return do_send(ep, buf, n, to, 0, data, context, pm_ep_of(ep)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t n, uint64_t data, fi_addr_t to)
{
	return do_send(ep, buf, n, to, 0, data, NULL, FI_INJECT | PM_QUIET | FI_REMOTE_CQ_DATA);
}

struct fi_ops_msg pm_msg_ops = {
	.size = sizeof(struct fi_ops_msg), .recv = msg_recv, .recvv = msg_recvv, .recvmsg = msg_recvmsg, .send = msg_send,
	.sendv = msg_sendv, .sendmsg = msg_sendmsg, .inject = msg_inject, .senddata = msg_senddata, .injectdata = msg_injectdata,
};

static ssize_t tag_recv(struct fid_ep *ep, void *buf, size_t n, void *desc, fi_addr_t from, uint64_t tag, uint64_t ignore,
			void *context)
{
	return do_recv(ep, buf, n, from, tag, ignore, context, pm_ep_of(ep)->rx_flags | FI_TAGGED);
}

static ssize_t tag_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t from, uint64_t tag,
			 uint64_t ignore, void *context)
{
	const struct iovec *v = only(iov, count);
	return count > 1 ? -FI_EINVAL : tag_recv(ep, v->iov_base, v->iov_len, NULL, from, tag, ignore, context);
}

static ssize_t tag_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
	const struct iovec *v = only(m->msg_iov, m->iov_count);
	if (m->iov_count > 1)
		return -FI_EINVAL;
	return do_recv(ep, v->iov_base, v->iov_len, m->addr, m->tag, m->ignore, m->context,
		       rx_msg_flags(pm_ep_of(ep), flags) | FI_TAGGED);
}

static ssize_t tag_send(struct fid_ep *ep, const void *buf, size_t n, void *desc, fi_addr_t to, uint64_t tag, void *context)
{
	return do_send(ep, buf, n, to, tag, 0, context, pm_ep_of(ep)->tx_flags | FI_TAGGED);
}

static ssize_t tag_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t to, uint64_t tag,
			 void *context)
{
	const struct iovec *v = only(iov, count);
	return count > 1 ? -FI_EINVAL : tag_send(ep, v->iov_base, v->iov_len, NULL, to, tag, context);
}

static ssize_t tag_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
	const struct iovec *v = only(m->msg_iov, m->iov_count);
	if (m->iov_count > 1)
		return -FI_EINVAL;
	return do_send(ep, v->iov_base, v->iov_len, m->addr, m->tag, m->data, m->context,
		       tx_msg_flags(pm_ep_of(ep), flags) | FI_TAGGED);
}

static ssize_t tag_inject(struct fid_ep *ep, const void *buf, size_t n, fi_addr_t to, uint64_t tag)
{
	return do_send(ep, buf, n, to, tag, 0, NULL, FI_INJECT | PM_QUIET | FI_TAGGED);
}

static ssize_t tag_senddata(struct fid_ep *ep, const void *buf, size_t n, void *desc, uint64_t data, fi_addr_t to, uint64_t tag,
			    void *context)
{
	return do_send(ep, buf, n, to, tag, data, context, pm_ep_of(ep)->tx_flags | FI_TAGGED | FI_REMOTE_CQ_DATA);
}

static ssize_t tag_injectdata(struct fid_ep *ep, const void *buf, size_t n, uint64_t data, fi_addr_t to, uint64_t tag)
{
	return do_send(ep, buf, n, to, tag, data, NULL, FI_INJECT | PM_QUIET | FI_TAGGED | FI_REMOTE_CQ_DATA);
}

struct fi_ops_tagged pm_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged), .recv = tag_recv, .recvv = tag_recvv, .recvmsg = tag_recvmsg, .send = tag_send,
	.sendv = tag_sendv, .sendmsg = tag_sendmsg, .inject = tag_inject, .senddata = tag_senddata, .injectdata = tag_injectdata,
};
