/* Address vectors. */
#include "objects.h"
#include "openmpi.h"

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
	int err = pm_bind_eq(&v->uses, other);

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
