/* Fabric, domain, address vector, memory region. */
#include "objects.h"
#include "openmpi.h"
#include "operation.h"

#include <pthread.h>

int pm_no_bind(struct fid *fid, struct fid *other, uint64_t flags) { return -FI_ENOSYS; }
int pm_no_control(struct fid *fid, int command, void *arg) { return -FI_ENOSYS; }
int pm_no_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context) { return -FI_ENOSYS; }

static int free_close(struct fid *fid)
{
	free(fid);
	return 0;
}

/* fabric */

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops), .close = free_close, .bind = pm_no_bind, .control = pm_no_control, .ops_open = pm_no_open,
};

static int no_passive_ep(struct fid_fabric *f, struct fi_info *i, struct fid_pep **pep, void *context) { return -FI_ENOSYS; }
static int no_wait_open(struct fid_fabric *f, struct fi_wait_attr *a, struct fid_wait **w) { return -FI_ENOSYS; }

/* Only event queues have a descriptor to wait on. */
static int trywait(struct fid_fabric *f, struct fid **fids, int count)
{
	for (int i = 0; i < count; i++) {
		int err = fids[i]->fclass == FI_CLASS_EQ ? pm_eq_trywait(fids[i]) : -FI_ENOSYS;
		if (err)
			return err;
	}
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric), .domain = pm_domain, .passive_ep = no_passive_ep, .eq_open = pm_eq_open,
	.wait_open = no_wait_open, .trywait = trywait,
};

int pm_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct pm_fabric *f;

	if (attr->name && strcasecmp(attr->name, PM_NAME) != 0)
		return -FI_ENODATA;
	f = calloc(1, sizeof *f);
	if (!f)
		return -FI_ENOMEM;
	f->fabric.fid = (struct fid){.fclass = FI_CLASS_FABRIC, .context = context, .ops = &fabric_fid_ops};
	f->fabric.ops = &fabric_ops;
	f->fabric.api_version = attr->api_version;
	*fabric = &f->fabric;
	return 0;
}

/* domain */

static int domain_close(struct fid *fid)
{
	struct pm_domain *d = (struct pm_domain *)fid;

	if (d->users)
		return -FI_EBUSY;
	if (!pm_forked)
		score_domain_close();
	pm_unuse(&d->uses);
	free(d);
	return 0;
}

static int bind_eq(struct pm_uses *uses, struct fid *other)
{
	if (other->fclass != FI_CLASS_EQ)
		return -FI_ENOSYS;
	pm_use(uses, pm_eq_users(other));
	return 0;
}

static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return bind_eq(&((struct pm_domain *)fid)->uses, other);
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops), .close = domain_close, .bind = domain_bind, .control = pm_no_control, .ops_open = pm_no_open,
};

static int no_scalable(struct fid_domain *d, struct fi_info *i, struct fid_ep **ep, void *context) { return -FI_ENOSYS; }
static int no_poll(struct fid_domain *d, struct fi_poll_attr *a, struct fid_poll **p) { return -FI_ENOSYS; }
static int no_stx(struct fid_domain *d, struct fi_tx_attr *a, struct fid_stx **s, void *context) { return -FI_ENOSYS; }
static int no_srx(struct fid_domain *d, struct fi_rx_attr *a, struct fid_ep **s, void *context) { return -FI_ENOSYS; }
static int no_collective(struct fid_domain *d, enum fi_collective_op op, struct fi_collective_attr *a, uint64_t flags)
{
	return -FI_ENOSYS;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain), .av_open = pm_av_open, .cq_open = pm_cq_open, .endpoint = pm_endpoint,
	.scalable_ep = no_scalable, .cntr_open = pm_cntr_open, .poll_open = no_poll, .stx_ctx = no_stx, .srx_ctx = no_srx,
	.query_atomic = pm_query_atomic, .query_collective = no_collective,
};

/* The peers are told when the program ends that this rank has left. */
static void leave_at_exit(void)
{
	if (!pm_forked)
		score_leave();
}

static void watch_exit(void) { atexit(leave_at_exit); }

int pm_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct pm_domain *d = calloc(1, sizeof *d);
	int mode = info->domain_attr->mr_mode;
	int64_t err;

	if (!d)
		return -FI_ENOMEM;
	if (pm_forked) {
		free(d);
		return -FI_EOPBADSTATE;
	}
	err = score_domain_open(info->domain_attr->data_progress == FI_PROGRESS_AUTO);
	if (err < 0) {
		free(d);
		return (int)err;
	}
	pthread_once(&once, watch_exit);
	pm_hurry_openmpi();
	d->virtual_addresses = mode == PM_MR_BASIC || (mode != PM_MR_SCALABLE && (mode & FI_MR_VIRT_ADDR));
	d->own_keys = mode == PM_MR_BASIC || (mode != PM_MR_SCALABLE && (mode & FI_MR_PROV_KEY));
	d->domain.fid = (struct fid){.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &domain_fid_ops};
	d->domain.ops = &domain_ops;
	d->domain.mr = &pm_mr_ops;
	*domain = &d->domain;
	return 0;
}

/* address vector */

/* Events of a vector that reports: one for each name that is none, then one with the number of the others. */

static int report_failed(struct pm_av *av, size_t at, int err, void *context)
{
	struct fi_eq_err_entry entry = {.fid = &av->av.fid, .context = context, .data = at, .err = err};

	return pm_eq_put(av->eq, FI_AV_COMPLETE, NULL, 0, &entry);
}

static int report_done(struct pm_av *av, int done, void *context)
{
	struct fi_eq_entry entry = {.fid = &av->av.fid, .context = context, .data = (uint64_t)done};

	return pm_eq_put(av->eq, FI_AV_COMPLETE, &entry, sizeof entry, NULL);
}

static int av_insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *addresses, uint64_t flags, void *context)
{
	struct pm_av *av = (struct pm_av *)fid;
	int done = 0, full = 0;

	if (av->events && !av->eq)
		return -FI_ENOEQ;
	pm_mend_openmpi();
	for (size_t i = 0; i < count; i++) {
		uint64_t address = FI_ADDR_NOTAVAIL;
		int64_t err = score_av_insert(av->handle, (char *)names + i * PM_NAME_BYTES, &address);
		if (addresses)
			addresses[i] = err ? FI_ADDR_NOTAVAIL : address;
		if (!err)
			done++;
		else if (av->events && !full)
			full = report_failed(av, i, (int)-err, context);
		if (!av->events && (flags & FI_SYNC_ERR) && context)
			((int *)context)[i] = (int)-err;
	}
	if (!av->events)
		return done;
	return full ? full : report_done(av, done, context);
}

static int no_insertsvc(struct fid_av *av, const char *node, const char *service, fi_addr_t *a, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static int no_insertsym(struct fid_av *av, const char *node, size_t nodes, const char *service, size_t services, fi_addr_t *a,
			uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count, uint64_t flags)
{
	struct pm_av *av = (struct pm_av *)fid;

	for (size_t i = 0; i < count; i++) {
		int64_t err = score_av_remove(av->handle, addresses[i]);
		if (err)
			return (int)err;
	}
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *to, size_t *length)
{
	struct pm_av *av = (struct pm_av *)fid;
	char name[PM_NAME_BYTES];
	int64_t err = score_av_name(av->handle, address, name);

	if (err)
		return (int)err;
	memcpy(to, name, *length < PM_NAME_BYTES ? *length : PM_NAME_BYTES);
	*length = PM_NAME_BYTES;
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *name, char *buf, size_t *length)
{
	uint32_t rank;
	size_t size = *length;
	int n;

	memcpy(&rank, (const char *)name + PM_NAME_RANK, sizeof rank);
	n = snprintf(buf, size, "pm://rank-%u:%u", rank, ((const unsigned char *)name)[PM_NAME_PORT]);
	*length = (size_t)n + 1;
	return buf;
}

void *pm_name_of_rank(uint32_t rank)
{
	char *name = calloc(1, PM_NAME_BYTES);

	if (!name)
		return NULL;
	name[PM_NAME_PORT] = (char)0xff;
	memcpy(name + PM_NAME_RANK, &rank, sizeof rank);
	return name;
}

static int no_av_set(struct fid_av *av, struct fi_av_set_attr *a, struct fid_av_set **set, void *context) { return -FI_ENOSYS; }

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av), .insert = av_insert, .insertsvc = no_insertsvc, .insertsym = no_insertsym,
	.remove = av_remove, .lookup = av_lookup, .straddr = av_straddr, .av_set = no_av_set,
};

static int av_close(struct fid *fid)
{
	struct pm_av *v = (struct pm_av *)fid;

	if (v->users)
		return -FI_EBUSY;
	if (!pm_forked)
		score_object_close(v->handle);
	pm_unuse(&v->uses);
	free(v);
	return 0;
}

static int av_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct pm_av *v = (struct pm_av *)fid;
	int err = bind_eq(&v->uses, other);

	if (!err)
		v->eq = (struct pm_eq *)other;
	return err;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops), .close = av_close, .bind = av_bind, .control = pm_no_control, .ops_open = pm_no_open,
};

int pm_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context)
{
	struct pm_av *v;

	if (attr && attr->name)
		return -FI_ENOSYS; /* no vectors that processes share */
	v = calloc(1, sizeof *v);
	if (!v)
		return -FI_ENOMEM;
	v->handle = score_av_open();
	v->events = attr && attr->flags & FI_EVENT;
	pm_use(&v->uses, &((struct pm_domain *)domain)->users);
	v->av.fid = (struct fid){.fclass = FI_CLASS_AV, .context = context, .ops = &av_fid_ops};
	v->av.ops = &av_ops;
	if (attr && attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_TABLE;
	*av = &v->av;
	return 0;
}

/* memory region */

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
