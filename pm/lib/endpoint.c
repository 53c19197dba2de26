/* Endpoints: messages, tagged messages, one-sided operations, atomics. */
#include "objects.h"

/* fid */

static int ep_close(struct fid *fid)
{
	if (!pm_forked)
		score_ep_close(((struct pm_ep *)fid)->number);
	free(fid);
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct pm_ep *ep = (struct pm_ep *)fid;

	switch (other->fclass) {
	case FI_CLASS_AV:
		score_ep_bind_av(ep->number, ((struct pm_av *)other)->handle);
		return 0;
	case FI_CLASS_CQ:
		score_ep_bind_cq(ep->number, ((struct pm_cq *)other)->handle, !!(flags & FI_TRANSMIT), !!(flags & FI_RECV),
				 !!(flags & FI_SELECTIVE_COMPLETION));
		return 0;
	case FI_CLASS_CNTR:
		score_ep_bind_counter(ep->number, ((struct pm_counter *)other)->handle, flags);
		return 0;
	case FI_CLASS_EQ:
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct pm_ep *ep = (struct pm_ep *)fid;
	uint64_t *flags = arg;

	switch (command) {
	case FI_ENABLE:
		return 0;
	case FI_GETOPSFLAG:
		*flags = *flags & FI_TRANSMIT ? ep->tx_flags : ep->rx_flags;
		return 0;
	case FI_SETOPSFLAG:
		if (*flags & FI_TRANSMIT)
			ep->tx_flags = *flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV);
		if (*flags & FI_RECV)
			ep->rx_flags = *flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV);
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops), .close = ep_close, .bind = ep_bind, .control = ep_control, .ops_open = pm_no_open,
};

/* options */

static ssize_t ep_cancel(fid_t fid, void *context)
{
	score_cancel(((struct pm_ep *)fid)->number, (uintptr_t)context);
	return 0;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *length)
{
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (*length < sizeof(size_t))
		return -FI_ETOOSMALL;
	memcpy(value, &((struct pm_ep *)fid)->min_multi, sizeof(size_t));
	*length = sizeof(size_t);
	return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t length)
{
	struct pm_ep *ep = (struct pm_ep *)fid;

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (length != sizeof(size_t))
		return -FI_EINVAL;
	memcpy(&ep->min_multi, value, sizeof(size_t));
	score_ep_min_multi(ep->number, ep->min_multi);
	return 0;
}

static int no_tx_ctx(struct fid_ep *ep, int i, struct fi_tx_attr *a, struct fid_ep **t, void *context) { return -FI_ENOSYS; }
static int no_rx_ctx(struct fid_ep *ep, int i, struct fi_rx_attr *a, struct fid_ep **r, void *context) { return -FI_ENOSYS; }
static ssize_t no_size_left(struct fid_ep *ep) { return -FI_ENOSYS; }

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep), .cancel = ep_cancel, .getopt = ep_getopt, .setopt = ep_setopt, .tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx, .rx_size_left = no_size_left, .tx_size_left = no_size_left,
};

/* names */

static int cm_setname(fid_t fid, void *name, size_t length) { return -FI_ENOSYS; }

static int cm_getname(fid_t fid, void *name, size_t *length)
{
	char have[PM_NAME_BYTES];
	size_t room = *length;

	score_ep_name(((struct pm_ep *)fid)->number, have);
	*length = PM_NAME_BYTES;
	if (room < PM_NAME_BYTES) {
		if (name)
			memcpy(name, have, room);
		return -FI_ETOOSMALL;
	}
	memcpy(name, have, PM_NAME_BYTES);
	return 0;
}

static int no_getpeer(struct fid_ep *ep, void *name, size_t *length) { return -FI_ENOSYS; }
static int no_connect(struct fid_ep *ep, const void *name, const void *param, size_t length) { return -FI_ENOSYS; }
static int no_listen(struct fid_pep *pep) { return -FI_ENOSYS; }
static int no_accept(struct fid_ep *ep, const void *param, size_t length) { return -FI_ENOSYS; }
static int no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t length) { return -FI_ENOSYS; }
static int no_shutdown(struct fid_ep *ep, uint64_t flags) { return -FI_ENOSYS; }
static int no_join(struct fid_ep *ep, const void *name, uint64_t flags, struct fid_mc **mc, void *context) { return -FI_ENOSYS; }

static struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm), .setname = cm_setname, .getname = cm_getname, .getpeer = no_getpeer,
	.connect = no_connect, .listen = no_listen, .accept = no_accept, .reject = no_reject, .shutdown = no_shutdown,
	.join = no_join,
};

int pm_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
{
	struct pm_ep *e = calloc(1, sizeof *e);
	int64_t number;

	if (!e)
		return -FI_ENOMEM;
	number = score_ep_open();
	if (number < 0) {
		free(e);
		return (int)number;
	}
	e->number = (int32_t)number;
	e->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	e->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	e->directed = (info->caps | (info->rx_attr ? info->rx_attr->caps : 0)) & FI_DIRECTED_RECV;
	e->ep.fid = (struct fid){.fclass = FI_CLASS_EP, .context = context, .ops = &ep_fid_ops};
	e->ep.ops = &ep_ops;
	e->ep.cm = &cm_ops;
	e->ep.msg = &pm_msg_ops;
	e->ep.tagged = &pm_tagged_ops;
	e->ep.rma = &pm_rma_ops;
	e->ep.atomic = &pm_atomic_ops;
	*ep = &e->ep;
	return 0;
}

/* What a call with flags of its own takes over from those of the endpoint. */
static uint64_t tx_msg_flags(struct pm_ep *e, uint64_t flags) { return flags | (e->tx_flags & ~FI_COMPLETION); }
static uint64_t rx_msg_flags(struct pm_ep *e, uint64_t flags) { return flags | (e->rx_flags & ~(FI_COMPLETION | FI_MULTI_RECV)); }

/* messages and tagged messages */

static ssize_t do_send(struct fid_ep *fid, const void *buf, size_t n, fi_addr_t to, uint64_t tag, uint64_t data, void *context,
		       uint64_t flags)
{
	if (pm_forked)
		return -FI_EOPBADSTATE;
	return score_send(pm_ep_of(fid)->number, (void *)buf, n, to, tag, data, (uintptr_t)context, flags);
}

static ssize_t do_recv(struct fid_ep *fid, void *buf, size_t n, fi_addr_t from, uint64_t tag, uint64_t ignore, void *context,
		       uint64_t flags)
{
	if (pm_forked)
		return -FI_EOPBADSTATE;
	if (!pm_ep_of(fid)->directed)
		from = FI_ADDR_UNSPEC;
	return score_recv(pm_ep_of(fid)->number, buf, n, from, tag, ignore, (uintptr_t)context, flags);
}

static const struct iovec none;

static const struct iovec *only(const struct iovec *iov, size_t count) { return count ? iov : &none; }

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

/* one-sided operations */

static ssize_t do_rma(struct fid_ep *ep, int read, const void *buf, size_t n, fi_addr_t to, uint64_t at, uint64_t key,
		      uint64_t data, void *context, uint64_t flags)
{
	if (pm_forked)
		return -FI_EOPBADSTATE;
	return score_rma(pm_ep_of(ep)->number, read, (void *)buf, n, to, at, key, data, (uintptr_t)context, flags);
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

/* atomics */

static ssize_t do_atomic(struct fid_ep *ep, const void *buf, size_t count, const void *compare, void *result, fi_addr_t to,
			 uint64_t at, uint64_t key, enum fi_datatype type, enum fi_op op, void *context, uint64_t flags)
{
	score_atomic_args a = {
		.buf = (void *)buf, .compare = (void *)compare, .result = result, .count = count, .to = to, .offset = at, .key = key,
		.flags = flags, .context = (uintptr_t)context, .op = (int32_t)op, .datatype = (int32_t)type,
	};
	if (pm_forked)
		return -FI_EOPBADSTATE;
	return score_atomic(pm_ep_of(ep)->number, &a);
}

static ssize_t a_write(struct fid_ep *ep, const void *buf, size_t count, void *desc, fi_addr_t to, uint64_t at, uint64_t key,
		       enum fi_datatype type, enum fi_op op, void *context)
{
	return do_atomic(ep, buf, count, NULL, NULL, to, at, key, type, op, context, pm_ep_of(ep)->tx_flags);
}

static ssize_t a_writev(struct fid_ep *ep, const struct fi_ioc *v, void **desc, size_t count, fi_addr_t to, uint64_t at,
			uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	return count != 1 ? -FI_EINVAL : a_write(ep, v->addr, v->count, NULL, to, at, key, type, op, context);
}

static bool single(const struct fi_msg_atomic *m) { return m->iov_count <= 1 && m->rma_iov_count == 1; }

static ssize_t a_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *m, uint64_t flags)
{
	if (!single(m))
		return -FI_EINVAL;
	return do_atomic(ep, m->msg_iov->addr, m->msg_iov->count, NULL, NULL, m->addr, m->rma_iov->addr, m->rma_iov->key,
			 m->datatype, m->op, m->context, tx_msg_flags(pm_ep_of(ep), flags));
}

static ssize_t a_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t to, uint64_t at, uint64_t key,
			enum fi_datatype type, enum fi_op op)
{
	return do_atomic(ep, buf, count, NULL, NULL, to, at, key, type, op, NULL, FI_INJECT | PM_QUIET);
}

static ssize_t a_fetch(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
		       fi_addr_t to, uint64_t at, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	return do_atomic(ep, buf, count, NULL, result, to, at, key, type, op, context, pm_ep_of(ep)->tx_flags);
}

static ssize_t a_fetchv(struct fid_ep *ep, const struct fi_ioc *v, void **desc, size_t count, struct fi_ioc *result,
			void **result_desc, size_t results, fi_addr_t to, uint64_t at, uint64_t key, enum fi_datatype type,
			enum fi_op op, void *context)
{
	if (count > 1 || results != 1)
		return -FI_EINVAL;
	return a_fetch(ep, count ? v->addr : NULL, result->count, NULL, result->addr, NULL, to, at, key, type, op, context);
}

static ssize_t a_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *m, struct fi_ioc *result, void **result_desc,
			  size_t results, uint64_t flags)
{
	if (!single(m) || results != 1)
		return -FI_EINVAL;
	return do_atomic(ep, m->iov_count ? m->msg_iov->addr : NULL, result->count, NULL, result->addr, m->addr, m->rma_iov->addr,
			 m->rma_iov->key, m->datatype, m->op, m->context, tx_msg_flags(pm_ep_of(ep), flags));
}

static ssize_t a_compare(struct fid_ep *ep, const void *buf, size_t count, void *desc, const void *compare, void *compare_desc,
			 void *result, void *result_desc, fi_addr_t to, uint64_t at, uint64_t key, enum fi_datatype type,
			 enum fi_op op, void *context)
{
	return do_atomic(ep, buf, count, compare, result, to, at, key, type, op, context, pm_ep_of(ep)->tx_flags);
}

static ssize_t a_comparev(struct fid_ep *ep, const struct fi_ioc *v, void **desc, size_t count, const struct fi_ioc *compare,
			  void **compare_desc, size_t compares, struct fi_ioc *result, void **result_desc, size_t results,
			  fi_addr_t to, uint64_t at, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	if (count != 1 || compares != 1 || results != 1)
		return -FI_EINVAL;
	return a_compare(ep, v->addr, v->count, NULL, compare->addr, NULL, result->addr, NULL, to, at, key, type, op, context);
}

static ssize_t a_comparemsg(struct fid_ep *ep, const struct fi_msg_atomic *m, const struct fi_ioc *compare, void **compare_desc,
			    size_t compares, struct fi_ioc *result, void **result_desc, size_t results, uint64_t flags)
{
	if (!single(m) || m->iov_count != 1 || compares != 1 || results != 1)
		return -FI_EINVAL;
	return do_atomic(ep, m->msg_iov->addr, m->msg_iov->count, compare->addr, result->addr, m->addr, m->rma_iov->addr,
			 m->rma_iov->key, m->datatype, m->op, m->context, tx_msg_flags(pm_ep_of(ep), flags));
}

static int valid(enum fi_datatype type, enum fi_op op, bool right, size_t *count)
{
	size_t n = right ? score_atomic_count((int32_t)op, (int32_t)type) : 0;

	if (n == 0)
		return -FI_EOPNOTSUPP;
	if (count)
		*count = n;
	return 0;
}

static int a_write_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(type, op, op != FI_ATOMIC_READ && op < FI_CSWAP, count);
}

static int a_fetch_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(type, op, op < FI_CSWAP, count);
}

static int a_compare_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(type, op, op == FI_CSWAP || op == FI_MSWAP, count);
}

struct fi_ops_atomic pm_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic), .write = a_write, .writev = a_writev, .writemsg = a_writemsg, .inject = a_inject,
	.readwrite = a_fetch, .readwritev = a_fetchv, .readwritemsg = a_fetchmsg, .compwrite = a_compare,
	.compwritev = a_comparev, .compwritemsg = a_comparemsg, .writevalid = a_write_valid, .readwritevalid = a_fetch_valid,
	.compwritevalid = a_compare_valid,
};

int pm_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	size_t count = 0;
	int err;

	if (flags & FI_COMPARE_ATOMIC)
		err = a_compare_valid(NULL, type, op, &count);
	else if (flags & FI_FETCH_ATOMIC)
		err = a_fetch_valid(NULL, type, op, &count);
	else
		err = a_write_valid(NULL, type, op, &count);
	if (!err && attr)
		attr->count = count;
	return err;
}
