/*
 * libfabric.so.1 with one provider, pm: for programs that were linked with libfabric. Debian's own
 * library loads those of networks that are not there, which takes each process 200 ms.
 */
#define _GNU_SOURCE
#include "libfabric.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

EXPORT uint32_t fi_version(void) { return PM_API; }

EXPORT const char *fi_strerror(int number) { return pm_strerror(number); }

/* wanted reports whether FI_PROVIDER, a list that ^ negates, lets the provider be used. */
static int wanted(void)
{
	const char *list = getenv("FI_PROVIDER");
	int negated, found = 0;
	size_t n;

	if (!list || !*list)
		return 1;
	negated = *list == '^';
	for (list += negated; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		found |= n == strlen(PM_NAME) && strncasecmp(list, PM_NAME, n) == 0;
	}
	return found != negated;
}

int score_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		  struct fi_info **info)
{
	struct fi_provider *provider;
	int err;

	if (FI_VERSION_LT(fi_version(), version))
		return -FI_ENOSYS;
	*info = NULL;
	provider = wanted() ? score_load() : NULL;
	if (!provider)
		return -FI_ENODATA;
	err = provider->getinfo(version, node, service, flags, hints, info);
	for (struct fi_info *i = err ? NULL : *info; i; i = i->next) {
		i->fabric_attr->prov_name = strdup(PM_NAME);
		i->fabric_attr->api_version = version;
	}
	return err;
}

int score_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct fi_provider *provider;

	if (!attr || !attr->prov_name || !attr->name)
		return -FI_EINVAL;
	if (strcasecmp(attr->prov_name, PM_NAME) != 0)
		return -FI_ENODEV;
	provider = score_load();
	return provider ? provider->fabric(attr, fabric, context) : -FI_ENODEV;
}

EXPORT int fi_open(uint32_t version, const char *name, void *attr, size_t length, uint64_t flags, struct fid **fid, void *context)
{
	return -FI_ENOSYS;
}

/* The library reports by return values; it writes no log. */

EXPORT int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys) { return 0; }

EXPORT int fi_log_ready(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys, uint64_t *showtime)
{
	return 0;
}

EXPORT void fi_log(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys, const char *func,
		   int line, const char *fmt, ...)
{
}
