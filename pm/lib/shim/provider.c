/* libscore-fi.so: what another libfabric finds in FI_PROVIDER_PATH. */
#include "load.h"

#include <rdma/fi_errno.h>

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		   struct fi_info **info)
{
	struct fi_provider *p = score_load();

	return p ? p->getinfo(version, node, service, flags, hints, info) : -FI_ENODATA;
}

static int fabric(struct fi_fabric_attr *attr, struct fid_fabric **f, void *context)
{
	struct fi_provider *p = score_load();

	return p ? p->fabric(attr, f, context) : -FI_ENODATA;
}

static void cleanup(void) {}

static struct fi_provider provider = {
	.version = FI_VERSION(1, 0), .fi_version = PM_API, .name = PM_NAME,
	.getinfo = getinfo, .fabric = fabric, .cleanup = cleanup,
};

FI_EXT_INI { return &provider; }
