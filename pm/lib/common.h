/* What the library with Go in it and the two small ones without share. */
#ifndef SCORE_COMMON_H
#define SCORE_COMMON_H

#include <rdma/fabric.h>
#include <stddef.h>

#define PM_NAME "pm"

/*
 * The release of libfabric whose interface the libraries have: its versions of functions, its structs.
 * It is newer than the headers that they are built with, 1.17 or later.
 */
#define PM_API FI_VERSION(2, 6)

/* Modes of memory of libfabric 1. The headers of libfabric 2 warn at each use of their own names. */
#define PM_MR_BASIC (1 << 0)
#define PM_MR_SCALABLE (1 << 1)

/* What releases after 1.17 appended to struct fi_domain_attr. */
struct pm_domain_tail {
	size_t max_ep_auth_key;		/* 1.20 */
	uint32_t max_group_id;		/* 2.0 */
	uint64_t max_cntr_value;	/* 2.5 */
	uint64_t max_err_cntr_value;
};

/* The struct's size in 1.17, whose last field has four bytes of padding after it. */
#define PM_DOMAIN_1_17 (offsetof(struct fi_domain_attr, tclass) + sizeof(size_t))

/* Infos of pm_allocinfo have a tail, hints that another libfabric passes may have none. */
static inline struct pm_domain_tail *pm_domain_tail(struct fi_domain_attr *a)
{
	return (struct pm_domain_tail *)((char *)a + PM_DOMAIN_1_17);
}

/* An info with all its parts, zeroed; NULL: no memory. */
struct fi_info *pm_allocinfo(void);

/* Frees infos and what they lead to, as libfabric's own fi_freeinfo does. */
void pm_freeinfo(struct fi_info *info);

/* The sentence of an error number, libfabric's own among them. */
const char *pm_strerror(int number);

#endif
