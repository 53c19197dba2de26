/* What the parts of libfabric.so.1 share. */
#ifndef SCORE_LIBFABRIC_H
#define SCORE_LIBFABRIC_H

#include "load.h"

#include <rdma/providers/fi_log.h>

#define EXPORT __attribute__((visibility("default")))

/* fi_getinfo, fi_fabric and fi_dupinfo with the structs of the headers; versions.c gives them to programs. */
int score_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		  struct fi_info **info);
int score_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

#endif
