/* Endpoints: what they are bound to, their options and names. */
#include "objects.h"

/* fid */

static int ep_close(struct fid *fid)
{
	struct pm_ep *ep = (struct pm_ep *)fid;

	if (!pm_forked)
		score_ep_close(ep->number);
	pm_unuse(&ep->uses);
	free(ep);
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct pm_ep *ep = (struct pm_ep *)fid;

	switch (other->fclass) {
	case FI_CLASS_AV:
		score_ep_bind_av(ep->number, ((struct pm_av *)other)->handle);
		pm_use(&ep->uses, &((struct pm_av *)other)->users);
		return 0;
	case FI_CLASS_CQ:
		score_ep_bind_cq(ep->number, ((struct pm_cq *)other)->handle, !!(flags & FI_TRANSMIT), !!(flags & FI_RECV),
				 !!(flags & FI_SELECTIVE_COMPLETION));
		pm_use(&ep->uses, &((struct pm_cq *)other)->users);
		return 0;
	case FI_CLASS_CNTR:
		score_ep_bind_counter(ep->number, ((struct pm_counter *)other)->handle, flags);
		pm_use(&ep->uses, &((struct pm_counter *)other)->users);
		return 0;
	case FI_CLASS_EQ:
		pm_use(&ep->uses, pm_eq_users(other));
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
	pm_use(&e->uses, &((struct pm_domain *)domain)->users);
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
