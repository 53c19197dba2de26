/* What the provider must offer for the hints that real libraries give. */
#include "consumer.h"
#include "rows.h"

static bool has(uint64_t have, uint64_t bits) { return (have & bits) == bits; }

/* The entries of other providers above pm, which would be taken before it. */
static bool layered(const struct fi_info *i)
{
	for (; i; i = i->next)
		if (strstr(i->fabric_attr->prov_name, "pm;") || strstr(i->fabric_attr->prov_name, "ofi_rx"))
			return true;
	return false;
}

static struct fi_info *hints(uint64_t caps)
{
	struct fi_info *h = fi_allocinfo();

	h->caps = caps;
	h->ep_attr->type = FI_EP_RDM;
	return h;
}

void row_rdm(void)
{
	static const enum fi_ep_type none[] = {FI_EP_MSG, FI_EP_DGRAM};
	struct fi_info *h = hints(FI_MSG), *i = offer(API, h);

	CHECK(i && i->ep_attr->type == FI_EP_RDM && strcmp(i->fabric_attr->prov_name, "pm") == 0 && !layered(i));
	fi_freeinfo(i);
	for (int k = 0; k < 2; k++) {
		h = hints(FI_MSG);
		h->ep_attr->type = none[k];
		CHECK(!offer(API, h));
	}
	h = hints(FI_MSG);
	h->fabric_attr->prov_name = strdup("pm");
	CHECK((i = offer(API, h)));
	fi_freeinfo(i);
	h = hints(FI_MSG);
	h->fabric_attr->prov_name = strdup("tcp");
	CHECK(!offer(API, h));
}

/* Open MPI 4.1, mtl/ofi, for each level of threads. */
void row_openmpi_mtl(void)
{
	static const enum fi_threading levels[] = {FI_THREAD_DOMAIN, FI_THREAD_SAFE};

	for (int k = 0; k < 2; k++) {
		struct fi_info *h = hints(FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV), *i;
		h->mode = FI_CONTEXT | FI_CONTEXT2;
		h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS;
		h->tx_attr->op_flags = h->rx_attr->op_flags = FI_COMPLETION;
		h->domain_attr->threading = levels[k];
		h->domain_attr->av_type = FI_AV_MAP;
		h->domain_attr->resource_mgmt = FI_RM_ENABLED;
		h->domain_attr->cq_data_size = 4;
		CHECK((i = offer(FI_VERSION(1, 5), h)));
		CHECK(has(i->caps, FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV));
		CHECK(has(i->tx_attr->msg_order, FI_ORDER_SAS) && has(i->rx_attr->msg_order, FI_ORDER_SAS));
		CHECK(i->domain_attr->threading == levels[k] && i->domain_attr->av_type == FI_AV_MAP);
		CHECK(i->domain_attr->cq_data_size >= 4 && i->domain_attr->mr_mode == 0);
		CHECK(i->ep_attr->mem_tag_format >> 47);
		CHECK(i->tx_attr->op_flags == FI_COMPLETION && i->rx_attr->op_flags == FI_COMPLETION);
		CHECK(!(i->mode & ~(FI_CONTEXT | FI_CONTEXT2)));
		fi_freeinfo(i);
	}
}

/* Open MPI 4.1, btl/ofi, one-sided and two-sided. */
void row_openmpi_btl(void)
{
	static const uint64_t caps[] = {FI_RMA | FI_ATOMIC, FI_RMA | FI_ATOMIC | FI_MSG};

	for (int k = 0; k < 2; k++) {
		struct fi_info *h = hints(caps[k]), *i;
		h->mode = FI_CONTEXT;
		h->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
		h->tx_attr->iov_limit = 1;
		h->domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
		h->domain_attr->av_type = FI_AV_MAP;
		CHECK((i = offer(FI_VERSION(1, 5), h)));
		CHECK(has(i->caps, caps[k]) && i->tx_attr->op_flags == FI_DELIVERY_COMPLETE);
		CHECK(!(i->domain_attr->mr_mode & ~(FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR)));
		CHECK(i->domain_attr->mr_key_size == 8 && i->ep_attr->max_msg_size >= 8 << 20);
		CHECK(!strstr(i->fabric_attr->prov_name, "ofi_rxm"));
		fi_freeinfo(i);
	}
}

/* MPICH 4, ch4:ofi: asks without hints and version, then for what was said. */
void row_mpich(void)
{
	struct fi_info *first, *h, *i;

	CHECK((first = offer(FI_VERSION(0, 0), NULL)));
	while (first && strcmp(first->fabric_attr->prov_name, "pm") != 0) /* of another libfabric's providers */
		first = first->next;
	CHECK(first && has(first->caps, FI_TAGGED | FI_MSG | FI_MULTI_RECV | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV));
	CHECK(first->ep_attr->type == FI_EP_RDM && first->domain_attr->cq_data_size >= 4);
	h = hints(first->caps | FI_DIRECTED_RECV);
	h->mode = FI_CONTEXT | FI_ASYNC_IOV;
	h->tx_attr->op_flags = FI_COMPLETION;
	h->tx_attr->msg_order = h->rx_attr->msg_order =
		FI_ORDER_SAS | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
	h->domain_attr->mode = OLD_RESTRICTED_COMP;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->control_progress = h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->domain_attr->av_type = FI_AV_TABLE;
	h->domain_attr->cq_data_size = 4;
	CHECK((i = offer(FI_VERSION(1, 9), h)));
	CHECK(has(i->caps, FI_TAGGED | FI_MSG | FI_MULTI_RECV | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV));
	CHECK(i->domain_attr->threading == FI_THREAD_DOMAIN && i->domain_attr->av_type == FI_AV_TABLE);
	CHECK(i->domain_attr->control_progress == FI_PROGRESS_MANUAL && i->domain_attr->data_progress == FI_PROGRESS_MANUAL);
	CHECK(i->domain_attr->mr_mode == 0 && i->domain_attr->resource_mgmt == FI_RM_ENABLED);
	CHECK(i->ep_attr->mem_tag_format >= 0x007000007fffffff && !(i->caps & FI_NAMED_RX_CTX));
	CHECK(i->ep_attr->max_order_raw_size && i->ep_attr->max_order_war_size && i->ep_attr->max_order_waw_size);
	fi_freeinfo(i);
}

/* Sandia OpenSHMEM 1.5: the default build, and the one for several threads. */
void row_openshmem(void)
{
	static const enum fi_threading levels[] = {FI_THREAD_DOMAIN, FI_THREAD_COMPLETION, FI_THREAD_SAFE};

	for (int k = 0; k < 3; k++) {
		struct fi_info *h = hints(FI_RMA | FI_ATOMIC | FI_RMA_EVENT), *i;
		h->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
		h->tx_attr->inject_size = 16;
		h->domain_attr->threading = levels[k];
		h->domain_attr->data_progress = FI_PROGRESS_AUTO;
		h->domain_attr->resource_mgmt = FI_RM_ENABLED;
		h->domain_attr->mr_key_size = 1;
		CHECK((i = offer(FI_VERSION(1, 5), h)));
		CHECK(has(i->caps, FI_RMA | FI_ATOMIC | FI_RMA_EVENT) && i->tx_attr->inject_size >= 16);
		CHECK(i->domain_attr->data_progress == FI_PROGRESS_AUTO && i->domain_attr->mr_mode == 0);
		CHECK(i->domain_attr->mr_key_size >= 1 && i->domain_attr->av_type != FI_AV_UNSPEC);
		CHECK(i->ep_attr->max_msg_size > 0 && i->domain_attr->ep_cnt >= 2 && i->domain_attr->cntr_cnt >= 3);
		fi_freeinfo(i);
	}
}

/* GASNet-EX, ofi-conduit: one question for each of its endpoints. */
void row_gasnet(void)
{
	static const int modes = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
	static const struct {
		uint64_t caps, mode, flags;
	} passes[] = {
		{FI_RMA | FI_MSG | FI_MULTI_RECV, FI_CONTEXT, 0},
		{FI_RMA, 0, FI_DELIVERY_COMPLETE},
		{FI_MSG | FI_MULTI_RECV, FI_CONTEXT, FI_INJECT_COMPLETE},
	};

	for (int k = 0; k < 3; k++) {
		struct fi_info *h = hints(passes[k].caps), *i;
		h->mode = passes[k].mode;
		h->tx_attr->op_flags = passes[k].flags;
		h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
		h->domain_attr->resource_mgmt = FI_RM_ENABLED;
		h->domain_attr->mr_mode = modes;
		h->domain_attr->threading = k ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
		CHECK((i = offer(FI_VERSION(1, 5), h)));
		CHECK(has(i->caps, passes[k].caps) && !(i->mode & ~passes[k].mode) && i->domain_attr->mode == 0);
		CHECK(!(i->domain_attr->mr_mode & ~modes) && i->tx_attr->op_flags == passes[k].flags);
		CHECK(i->domain_attr->ep_cnt >= 3 && i->domain_attr->cq_data_size >= 4);
		fi_freeinfo(i);
	}
}

void row_limits(void)
{
	struct fi_info *i = offer(API, hints(WANTED)), *h;

	CHECK(i && i->ep_attr->mem_tag_format == ~0ULL && i->domain_attr->cq_data_size == 8 && i->domain_attr->mr_key_size == 8);
	CHECK(i->tx_attr->inject_size >= 64 && i->ep_attr->max_msg_size >= 1ULL << 32 && i->ep_attr->msg_prefix_size == 0);
	CHECK(i->tx_attr->iov_limit >= 1 && i->rx_attr->iov_limit >= 1 && i->tx_attr->rma_iov_limit >= 1);
	CHECK(i->domain_attr->resource_mgmt == FI_RM_ENABLED);
	h = hints(FI_MSG);
	h->tx_attr->inject_size = i->tx_attr->inject_size + 1;
	CHECK(!offer(API, h));
	h = hints(FI_MSG);
	h->ep_attr->max_msg_size = i->ep_attr->max_msg_size + 1;
	CHECK(!offer(API, h));
	fi_freeinfo(i);
}

/* MPICH compares the answer with the question. */
void row_threading(void)
{
	static const enum fi_threading levels[] = {FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_DOMAIN, FI_THREAD_COMPLETION, FI_THREAD_ENDPOINT};

	for (int k = 0; k < 5; k++) {
		struct fi_info *h = hints(FI_MSG), *i;
		h->domain_attr->threading = levels[k];
		CHECK((i = offer(API, h)) && i->domain_attr->threading == levels[k]);
		fi_freeinfo(i);
	}
}

void row_progress(void)
{
	static const enum fi_progress kinds[] = {FI_PROGRESS_MANUAL, FI_PROGRESS_AUTO};

	for (int k = 0; k < 2; k++) {
		struct fi_info *h = hints(FI_MSG), *i;
		h->domain_attr->data_progress = h->domain_attr->control_progress = kinds[k];
		CHECK((i = offer(API, h)));
		CHECK(i->domain_attr->data_progress == kinds[k] && i->domain_attr->control_progress == kinds[k]);
		fi_freeinfo(i);
	}
}

void row_mr_mode(void)
{
	static const int basic = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	static const int kinds[] = {0, FI_MR_VIRT_ADDR, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR | FI_MR_PROV_KEY, basic};
	struct fi_info *h, *i;

	for (int k = 0; k < 5; k++) {
		h = hints(FI_RMA);
		h->domain_attr->mr_mode = kinds[k] | FI_MR_ENDPOINT | FI_MR_LOCAL;
		CHECK((i = offer(API, h)) && i->domain_attr->mr_mode == kinds[k]);
		fi_freeinfo(i);
	}
	for (int k = OLD_MR_BASIC; k <= OLD_MR_SCALABLE; k++) {
		h = hints(FI_RMA);
		h->domain_attr->mr_mode = k;
		CHECK((i = offer(API, h)) && i->domain_attr->mr_mode == k);
		fi_freeinfo(i);
	}
	for (int k = OLD_MR_BASIC; k <= OLD_MR_SCALABLE; k++) { /* of programs before 1.5 */
		h = hints(FI_RMA);
		h->domain_attr->mr_mode = k;
		CHECK((i = offer(FI_VERSION(1, 4), h)) && i->domain_attr->mr_mode == k);
		fi_freeinfo(i);
	}
}

void row_order(void)
{
	static const uint64_t orders[] = {
		FI_ORDER_SAS, FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_RAR,
		FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW,
	};
	struct fi_info *h, *i;

	for (int k = 0; k < 3; k++) {
		h = hints(WANTED);
		h->tx_attr->msg_order = h->rx_attr->msg_order = orders[k];
		CHECK((i = offer(API, h)) && has(i->tx_attr->msg_order, orders[k]) && has(i->rx_attr->msg_order, orders[k]));
		fi_freeinfo(i);
	}
}

/* What there is not must not be promised. */
void row_refused(void)
{
	static const uint64_t caps[] = {FI_MULTICAST, FI_NAMED_RX_CTX, OLD_VARIABLE_MSG, FI_COLLECTIVE, FI_HMEM};
	struct fi_info *h, *i;

	for (int k = 0; k < 5; k++)
		CHECK(!offer(FI_VERSION(1, 17), hints(FI_MSG | caps[k])));
	h = hints(FI_MSG);
	h->ep_attr->tx_ctx_cnt = 2; /* a scalable endpoint */
	CHECK(!offer(API, h));
	h = hints(FI_MSG);
	h->domain_attr->mr_key_size = 16;
	CHECK(!offer(API, h));
	h = hints(FI_MSG);
	h->domain_attr->ep_cnt = 1 << 20;
	CHECK(!offer(API, h));
	h = hints(FI_MSG);
	h->tx_attr->comp_order = OLD_ORDER_STRICT;
	CHECK(!offer(API, h));
	h = hints(FI_MSG);
	h->tx_attr->size = 1 << 20;
	CHECK(!offer(API, h));
	h = hints(FI_MSG);
	h->ep_attr->protocol = FI_PROTO_RXM;
	CHECK(!offer(API, h));
	h = hints(FI_MSG);
	CHECK(fi_getinfo(API, "localhost", NULL, 0, h, &i) == -FI_ENODATA); /* no address that could be looked up */
	CHECK(fi_getinfo(API, NULL, "9228", FI_SOURCE, h, &i) == 0);
	CHECK(i->src_addr && i->src_addrlen == NAME_BYTES && !i->dest_addr);
	fi_freeinfo(i);
	fi_freeinfo(h);
}

/* Each side has the capabilities that are its own. */
void row_sides(void)
{
	struct fi_info *i = offer(API, hints(0));

	CHECK(i && has(i->tx_attr->caps, FI_FENCE | FI_SEND) && !(i->tx_attr->caps & (FI_RECV | FI_DIRECTED_RECV | FI_RMA_EVENT)));
	CHECK(has(i->rx_attr->caps, FI_RECV | FI_DIRECTED_RECV) && !(i->rx_attr->caps & (FI_FENCE | FI_SEND)));
	fi_freeinfo(i);
}

void row_versions(void)
{
	static const uint32_t versions[] = {FI_VERSION(0, 0), FI_VERSION(1, 0), FI_VERSION(1, 5), FI_VERSION(1, 9), FI_VERSION(1, 17)};
	struct fi_info *info;

	CHECK(fi_version() >= FI_VERSION(1, 17));
	for (int k = 0; k < 5; k++) {
		CHECK((info = offer(versions[k], hints(FI_MSG | FI_TAGGED))));
		CHECK(info->fabric_attr->api_version == versions[k]);
		fi_freeinfo(info);
	}
	CHECK(fi_getinfo(FI_VERSION(FI_MAJOR(fi_version()), FI_MINOR(fi_version()) + 1), NULL, NULL, 0, NULL, &info) == -FI_ENOSYS);
}
