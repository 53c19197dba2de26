/* What the calls that begin operations share. */
#ifndef SCORE_OPERATION_H
#define SCORE_OPERATION_H

#include "objects.h"

/* What a call with flags of its own takes over from those of the endpoint. */
static inline uint64_t tx_msg_flags(struct pm_ep *e, uint64_t flags) { return flags | (e->tx_flags & ~FI_COMPLETION); }
static inline uint64_t rx_msg_flags(struct pm_ep *e, uint64_t flags) { return flags | (e->rx_flags & ~(FI_COMPLETION | FI_MULTI_RECV)); }

/* The one piece of a vector of count; of none, an empty one. */
static inline const struct iovec *only(const struct iovec *iov, size_t count)
{
	static const struct iovec none;

	return count ? iov : &none;
}

/* Whether bytes are nowhere: they would go as an empty message. Open MPI 4.1 sends so what MPI_BOTTOM's type describes. */
static inline bool nowhere(const void *buf, size_t n) { return !buf && n; }

#endif
