/* Atomic operations on peers' memory. */
#include "objects.h"
#include "operation.h"

static ssize_t do_atomic(struct fid_ep *ep, const void *buf, size_t count, const void *compare, void *result, fi_addr_t to,
			 uint64_t at, uint64_t key, enum fi_datatype type, enum fi_op op, void *context, uint64_t flags)
{
	score_atomic_args a = {
		.buf = (void *)buf, .compare = (void *)compare, .result = result, .count = count, .to = to, .offset = at, .key = key,
		.flags = flags, .context = (uintptr_t)context, .op = (int32_t)op, .datatype = (int32_t)type,
	};
	ssize_t err = pm_enter();

	if (err)
		return err;
	err = score_atomic(pm_ep_of(ep)->number, &a);
	pm_leave();
	return err;
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
