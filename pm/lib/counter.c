/* Counters of completed operations. */
#include "objects.h"
#include "waiting.h"

static uint64_t cntr_read(struct fid_cntr *fid)
{
	pm_progress();
	return atomic_load_explicit(&((struct pm_counter *)fid)->value, memory_order_acquire);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	return atomic_load_explicit(&((struct pm_counter *)fid)->failed, memory_order_acquire);
}

/* changed makes threads that wait for a counter check it again. */
static int changed(void)
{
	pm_progress();
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t n)
{
	atomic_fetch_add(&((struct pm_counter *)fid)->value, n);
	return changed();
}

static int cntr_set(struct fid_cntr *fid, uint64_t n)
{
	atomic_store(&((struct pm_counter *)fid)->value, n);
	return changed();
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t n)
{
	atomic_fetch_add(&((struct pm_counter *)fid)->failed, n);
	return changed();
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t n)
{
	atomic_store(&((struct pm_counter *)fid)->failed, n);
	return changed();
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct pm_counter *c = (struct pm_counter *)fid;
	int64_t end = end_of(timeout), left;
	uint64_t failed = cntr_readerr(fid);
	score_watch w = {.word = {(uint64_t *)&c->value, (uint64_t *)&c->failed}, .seen = {0, failed}};
	int err;

	for (;;) {
		w.seen[0] = cntr_read(fid);
		if (w.seen[0] >= threshold)
			return 0;
		if (atomic_load(&c->failed) != failed)
			return -FI_EAVAIL;
		left = left_of(end);
		if (left == 0)
			return -FI_ETIMEDOUT;
		err = pm_wait(left, &w);
		if (err)
			return err;
	}
}

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr), .read = cntr_read, .readerr = cntr_readerr, .add = cntr_add, .set = cntr_set,
	.wait = cntr_wait, .adderr = cntr_adderr, .seterr = cntr_seterr,
};

static int cntr_close(struct fid *fid)
{
	struct pm_counter *c = (struct pm_counter *)fid;

	if (c->users)
		return -FI_EBUSY;
	if (!pm_forked)
		score_object_close(c->handle);
	pm_unuse(&c->uses);
	free(c);
	return 0;
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(struct fi_ops), .close = cntr_close, .bind = pm_no_bind, .control = pm_no_control, .ops_open = pm_no_open,
};

int pm_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context)
{
	struct pm_counter *c;

	if (attr && attr->events != FI_CNTR_EVENTS_COMP)
		return -FI_ENOSYS; /* libfabric 2 can count bytes, too */
	c = calloc(1, sizeof *c);
	if (!c)
		return -FI_ENOMEM;
	c->handle = score_counter_open((uint64_t *)&c->value, (uint64_t *)&c->failed);
	pm_use(&c->uses, &((struct pm_domain *)domain)->users);
	c->cntr.fid = (struct fid){.fclass = FI_CLASS_CNTR, .context = context, .ops = &cntr_fid_ops};
	c->cntr.ops = &cntr_ops;
	*cntr = &c->cntr;
	return 0;
}
