/* Fabric and domain. */
#include "objects.h"
#include "openmpi.h"

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

int pm_bind_eq(struct pm_uses *uses, struct fid *other)
{
	if (other->fclass != FI_CLASS_EQ)
		return -FI_ENOSYS;
	pm_use(uses, pm_eq_users(other));
	return 0;
}

static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return pm_bind_eq(&((struct pm_domain *)fid)->uses, other);
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
