/* Event queues, in which nothing ever happens. */
#include "objects.h"

static ssize_t eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t length, uint64_t flags) { return -FI_EAGAIN; }
static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *e, uint64_t flags) { return -FI_EAGAIN; }
static ssize_t eq_write(struct fid_eq *eq, uint32_t event, const void *buf, size_t length, uint64_t flags) { return -FI_ENOSYS; }
static ssize_t eq_sread(struct fid_eq *eq, uint32_t *event, void *buf, size_t length, int timeout, uint64_t flags)
{
	return -FI_EAGAIN;
}
static const char *eq_strerror(struct fid_eq *eq, int number, const void *data, char *buf, size_t length)
{
	return pm_strerror(number);
}

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq), .read = eq_read, .readerr = eq_readerr, .write = eq_write, .sread = eq_sread,
	.strerror = eq_strerror,
};

static int eq_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops), .close = eq_close, .bind = pm_no_bind, .control = pm_no_control, .ops_open = pm_no_open,
};

int pm_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context)
{
	struct fid_eq *q = calloc(1, sizeof *q);

	if (!q)
		return -FI_ENOMEM;
	q->fid = (struct fid){.fclass = FI_CLASS_EQ, .context = context, .ops = &eq_fid_ops};
	q->ops = &eq_ops;
	*eq = q;
	return 0;
}
