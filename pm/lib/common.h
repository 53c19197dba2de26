/* What the library with Go in it and the two small ones without share. */
#ifndef SCORE_COMMON_H
#define SCORE_COMMON_H

#include <rdma/fabric.h>

#define PM_NAME "pm"

/* An info with all its parts, zeroed; NULL: no memory. */
struct fi_info *pm_allocinfo(void);

/* Frees infos and what they lead to, as libfabric's own fi_freeinfo does. */
void pm_freeinfo(struct fi_info *info);

/* The sentence of an error number, libfabric's own among them. */
const char *pm_strerror(int number);

#endif
