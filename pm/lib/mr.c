/* Memory regions. */
#include "objects.h"
#include "operation.h"

static int mr_close(struct fid *fid)
{
	struct pm_mr *m = (struct pm_mr *)fid;

	if (!pm_forked)
		score_mr_close(m->handle);
	pm_unuse(&m->uses);
	free(m);
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct pm_mr *m = (struct pm_mr *)fid;
	struct pm_counter *c = (struct pm_counter *)other;

	if (other->fclass != FI_CLASS_CNTR || !(flags & (FI_REMOTE_WRITE | FI_REMOTE_READ | FI_RMA_EVENT)))
		return 0;
	score_mr_watch(m->handle, c->handle, flags);
	pm_use(&m->uses, &c->users);
	return 0;
}

static int mr_control(struct fid *fid, int command, void *arg) { return command == FI_ENABLE ? 0 : -FI_ENOSYS; }

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops), .close = mr_close, .bind = mr_bind, .control = mr_control, .ops_open = pm_no_open,
};

static uint64_t access_of(uint64_t access)
{
	uint64_t a = 0;

	if (access & FI_REMOTE_READ)
		a |= 1;
	if (access & FI_REMOTE_WRITE)
		a |= 2;
	if (access & (FI_REMOTE_READ | FI_REMOTE_WRITE))
		a |= 4;
	return a;
}

static int mr_reg(struct fid *fid, const void *buf, size_t length, uint64_t access, uint64_t offset, uint64_t key,
		  uint64_t flags, struct fid_mr **mr, void *context)
{
	struct pm_domain *d = (struct pm_domain *)fid;
	struct pm_mr *m;
	uint64_t base = d->virtual_addresses ? (uint64_t)(uintptr_t)buf : offset;

	/* From address 0 on, without end, is all that the process will ever have: MPICH's dynamic windows. Else
	 * there is no memory. */
	if (fid->fclass != FI_CLASS_DOMAIN || (nowhere(buf, length) && length != SIZE_MAX))
		return -FI_EINVAL;
	m = calloc(1, sizeof *m);
	if (!m)
		return -FI_ENOMEM;
	m->handle = score_mr_reg((void *)buf, length, access_of(access), !d->own_keys, &key, base);
	if (m->handle < 0) {
		int err = (int)m->handle;
		free(m);
		return err;
	}
	m->mr.fid = (struct fid){.fclass = FI_CLASS_MR, .context = context, .ops = &mr_fid_ops};
	m->mr.key = key;
	pm_use(&m->uses, &d->users);
	*mr = &m->mr;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t key,
		   uint64_t flags, struct fid_mr **mr, void *context)
{
	if (count != 1)
		return -FI_EINVAL;
	return mr_reg(fid, iov->iov_base, iov->iov_len, access, offset, key, flags, mr, context);
}

/* The flag by which programs of libfabric 1.20 and newer name memory of a device, with no iovec. */
#define MR_DMABUF (1ULL << 40)

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *a, uint64_t flags, struct fid_mr **mr)
{
	if (flags & MR_DMABUF)
		return -FI_EOPNOTSUPP;
	return mr_regv(fid, a->mr_iov, a->iov_count, a->access, a->offset, a->requested_key, flags, mr, a->context);
}

struct fi_ops_mr pm_mr_ops = {.size = sizeof(struct fi_ops_mr), .reg = mr_reg, .regv = mr_regv, .regattr = mr_regattr};
