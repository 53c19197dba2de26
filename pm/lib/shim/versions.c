/*
 * Infos of programs that were built with older headers. Each version added fields at the ends of
 * structs, so what the library returns fits all; what it reads of a program is only what the
 * program's version has.
 */
#define _GNU_SOURCE
#include "libfabric.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* sizes are those of the structs of one version, in bytes. */
struct sizes {
	size_t info, tx, rx, ep, domain, fabric;
};

static const struct sizes version_1_0 = {
	offsetof(struct fi_info, nic), offsetof(struct fi_tx_attr, tclass), sizeof(struct fi_rx_attr),
	offsetof(struct fi_ep_attr, auth_key_size), offsetof(struct fi_domain_attr, cntr_cnt),
	offsetof(struct fi_fabric_attr, api_version),
};
static const struct sizes version_1_1 = {
	offsetof(struct fi_info, nic), offsetof(struct fi_tx_attr, tclass), sizeof(struct fi_rx_attr),
	sizeof(struct fi_ep_attr), offsetof(struct fi_domain_attr, tclass), sizeof(struct fi_fabric_attr),
};
static const struct sizes version_1_2 = {
	sizeof(struct fi_info), offsetof(struct fi_tx_attr, tclass), sizeof(struct fi_rx_attr),
	sizeof(struct fi_ep_attr), offsetof(struct fi_domain_attr, tclass), sizeof(struct fi_fabric_attr),
};
#define SINCE_1_3(domain)                                                                                              \
	{                                                                                                              \
		sizeof(struct fi_info), sizeof(struct fi_tx_attr), sizeof(struct fi_rx_attr), sizeof(struct fi_ep_attr), (domain), \
			sizeof(struct fi_fabric_attr)                                                                  \
	}
#define TAIL(field) (PM_DOMAIN_1_17 + offsetof(struct pm_domain_tail, field))

static const struct sizes version_1_3 = SINCE_1_3(PM_DOMAIN_1_17);
static const struct sizes version_1_7 = SINCE_1_3(TAIL(max_group_id));
static const struct sizes version_1_8 = SINCE_1_3(TAIL(max_cntr_value));
static const struct sizes version_1_9 = SINCE_1_3(PM_DOMAIN_1_17 + sizeof(struct pm_domain_tail));

/* take copies a part into zeroed memory; a part that the program has not is not wanted. */
#define TAKE(part, size)                                                                                               \
	do {                                                                                                           \
		if (from->part)                                                                                        \
			memcpy(to->part, from->part, (size));                                                          \
		else {                                                                                                 \
			free(to->part);                                                                                \
			to->part = NULL;                                                                               \
		}                                                                                                      \
	} while (0)

/* copied returns a copy of what p leads to; missing: memory ran out for one that was wanted. */
static void *copied(const void *p, size_t n, int *missing)
{
	void *copy;

	if (!p || !n)
		return NULL;
	copy = malloc(n);
	if (copy)
		memcpy(copy, p, n);
	else
		*missing = 1;
	return copy;
}

static char *text(const char *s, int *missing) { return s ? copied(s, strlen(s) + 1, missing) : NULL; }

/* own_memory gives a copy its own copies of what it shares with the original. */
static int own_memory(struct fi_info *i)
{
	int missing = 0;

	i->src_addr = copied(i->src_addr, i->src_addrlen, &missing);
	i->dest_addr = copied(i->dest_addr, i->dest_addrlen, &missing);
	if (i->ep_attr)
		i->ep_attr->auth_key = copied(i->ep_attr->auth_key, i->ep_attr->auth_key_size, &missing);
	if (i->domain_attr) {
		i->domain_attr->auth_key = copied(i->domain_attr->auth_key, i->domain_attr->auth_key_size, &missing);
		i->domain_attr->name = text(i->domain_attr->name, &missing);
	}
	if (i->fabric_attr) {
		i->fabric_attr->name = text(i->fabric_attr->name, &missing);
		i->fabric_attr->prov_name = text(i->fabric_attr->prov_name, &missing);
	}
	return missing;
}

static struct fi_info *dupinfo(const struct fi_info *from, const struct sizes *size)
{
	struct fi_info *to = pm_allocinfo();
	struct fi_info parts;

	if (!to || !from)
		return to;
	parts = *to;
	memcpy(to, from, size->info);
	to->next = NULL;
	to->nic = NULL; /* there are none */
	to->tx_attr = parts.tx_attr;
	to->rx_attr = parts.rx_attr;
	to->ep_attr = parts.ep_attr;
	to->domain_attr = parts.domain_attr;
	to->fabric_attr = parts.fabric_attr;
	TAKE(tx_attr, size->tx);
	TAKE(rx_attr, size->rx);
	TAKE(ep_attr, size->ep);
	TAKE(domain_attr, size->domain);
	TAKE(fabric_attr, size->fabric);
	if (own_memory(to)) {
		pm_freeinfo(to);
		return NULL;
	}
	return to;
}

/* tail_fits reports whether a program asks for no groups of peers, and for no keys of endpoints. */
static bool tail_fits(struct fi_domain_attr *a)
{
	return !a || (pm_domain_tail(a)->max_ep_auth_key == 0 && pm_domain_tail(a)->max_group_id == 0);
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		   struct fi_info **info, const struct sizes *size)
{
	struct fi_info *wide = NULL;
	int err;

	if (hints && !(wide = dupinfo(hints, size)))
		return -FI_ENOMEM;
	err = wide && !tail_fits(wide->domain_attr) && !(flags & FI_PROV_ATTR_ONLY) ?
		      -FI_ENODATA :
		      score_getinfo(version, node, service, flags, wide, info);
	pm_freeinfo(wide);
	return err;
}

#define SYMBOL(name, of, version) __asm__(".symver " #name "," #of version)

/* Each version has its functions. */
#define VERSION(n, at)                                                                                                 \
	EXPORT int getinfo_##n(uint32_t version, const char *node, const char *service, uint64_t flags,                \
			       const struct fi_info *hints, struct fi_info **info)                                      \
	{                                                                                                              \
		return getinfo(version, node, service, flags, hints, info, &version_##n);                              \
	}                                                                                                              \
	EXPORT struct fi_info *dupinfo_##n(const struct fi_info *info) { return dupinfo(info, &version_##n); }         \
	EXPORT void freeinfo_##n(struct fi_info *info) { pm_freeinfo(info); }                                          \
	SYMBOL(getinfo_##n, fi_getinfo, at);                                                                           \
	SYMBOL(dupinfo_##n, fi_dupinfo, at);                                                                           \
	SYMBOL(freeinfo_##n, fi_freeinfo, at)

VERSION(1_0, "@FABRIC_1.0");
VERSION(1_1, "@FABRIC_1.1");
VERSION(1_2, "@FABRIC_1.2");
/* What is linked with this library has the headers of 1.17 or later. */
VERSION(1_3, "@@FABRIC_1.3");
VERSION(1_7, "@FABRIC_1.7");
VERSION(1_8, "@FABRIC_1.8");
VERSION(1_9, "@FABRIC_1.9");

EXPORT int fabric_1_0(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct fi_fabric_attr wide = {0};

	if (!attr)
		return -FI_EINVAL;
	memcpy(&wide, attr, version_1_0.fabric);
	return score_fabric(&wide, fabric, context);
}

EXPORT int fabric_1_1(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return score_fabric(attr, fabric, context);
}

SYMBOL(fabric_1_0, fi_fabric, "@FABRIC_1.0");
SYMBOL(fabric_1_1, fi_fabric, "@@FABRIC_1.1");

EXPORT int fabric2(struct fi_info *info, struct fid_fabric **fabric, uint64_t flags, void *context)
{
	return flags || !info ? -FI_EINVAL : score_fabric(info->fabric_attr, fabric, context);
}

SYMBOL(fabric2, fi_fabric2, "@@FABRIC_1.8");
