/* One-sided operations: reads and writes of peers' memory. */
#include "objects.h"
#include "operation.h"

static ssize_t do_rma(struct fid_ep *ep, int read, const void *buf, size_t n, fi_addr_t to, uint64_t at, uint64_t key,
		      uint64_t data, void *context, uint64_t flags)
{
	ssize_t err;

	if (nowhere(buf, n))
		return -FI_EFAULT;
	err = pm_enter();
	if (err)
		return err;
	err = score_rma(pm_ep_of(ep)->number, read, (void *)buf, n, to, at, key, data, (uintptr_t)context, flags);
	pm_leave();
	return err;
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t n, void *desc, fi_addr_t from, uint64_t at, uint64_t key,
			void *context)
{
	return do_rma(ep, 1, buf, n, from, at, key, 0, context, pm_ep_of(ep)->tx_flags);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t from, uint64_t at,
			 uint64_t key, void *context)
{
	const struct iovec *v = only(iov, count);
	return count > 1 ? -FI_EINVAL : rma_read(ep, v->iov_base, v->iov_len, NULL, from, at, key, context);
}

static ssize_t rma_msg(struct fid_ep *ep, int read, const struct fi_msg_rma *m, uint64_t flags)
{
	const struct iovec *v = only(m->msg_iov, m->iov_count);
	if (m->iov_count > 1 || m->rma_iov_count != 1)
		return -FI_EINVAL;
	return do_rma(ep, read, v->iov_base, v->iov_len, m->addr, m->rma_iov->addr, m->rma_iov->key, m->data, m->context,
		      tx_msg_flags(pm_ep_of(ep), flags));
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags) { return rma_msg(ep, 1, m, flags); }

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t n, void *desc, fi_addr_t to, uint64_t at, uint64_t key,
			 void *context)
{
	return do_rma(ep, 0, buf, n, to, at, key, 0, context, pm_ep_of(ep)->tx_flags);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t to, uint64_t at,
			  uint64_t key, void *context)
{
	const struct iovec *v = only(iov, count);
	return count > 1 ? -FI_EINVAL : rma_write(ep, v->iov_base, v->iov_len, NULL, to, at, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags) { return rma_msg(ep, 0, m, flags); }

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t n, fi_addr_t to, uint64_t at, uint64_t key)
{
	return do_rma(ep, 0, buf, n, to, at, key, 0, NULL, FI_INJECT | PM_QUIET);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t n, void *desc, uint64_t data, fi_addr_t to, uint64_t at,
			     uint64_t key, void *context)
{
	return do_rma(ep, 0, buf, n, to, at, key, data, context, pm_ep_of(ep)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t n, uint64_t data, fi_addr_t to, uint64_t at, uint64_t key)
{
	return do_rma(ep, 0, buf, n, to, at, key, data, NULL, FI_INJECT | PM_QUIET | FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma pm_rma_ops = {
	.size = sizeof(struct fi_ops_rma), .read = rma_read, .readv = rma_readv, .readmsg = rma_readmsg, .write = rma_write,
	.writev = rma_writev, .writemsg = rma_writemsg, .inject = rma_inject, .writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
