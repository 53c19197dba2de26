/* What the provider offers: fi_getinfo. */
#include "objects.h"

#define PM_ENDPOINTS 128 /* tag.Ports */
#define PM_TX_SIZE 1024 /* uct.MaxOps */
#define PM_RX_SIZE 1024 /* more may wait */
#define PM_PROTOCOL (0x80000000u | 0x504d)
#define PM_PROTOCOL_VERSION 1

#define CAPS_PRIMARY (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC)
#define CAPS_SIDES (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define CAPS_MORE (FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE | FI_RMA_EVENT | FI_FENCE)
#define CAPS_GIVEN (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS (CAPS_PRIMARY | CAPS_SIDES | CAPS_MORE | CAPS_GIVEN)
/* FI_FENCE is of those who send. */
#define TX_CAPS (CAPS_PRIMARY | FI_SEND | FI_READ | FI_WRITE | FI_FENCE)
#define RX_CAPS (CAPS_PRIMARY | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | (CAPS_MORE & ~FI_FENCE))

/* Messages of a peer arrive in order, and so do its one-sided operations. */
#define ORDER                                                                                                          \
	(FI_ORDER_SAS | FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |   \
	 FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |            \
	 FI_ORDER_ATOMIC_WAW)
#define OP_FLAGS                                                                                                       \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | \
	 FI_MULTI_RECV)

static bool subset(uint64_t asked, uint64_t have) { return (asked & ~have) == 0; }

static bool same(const char *asked, const char *have) { return !asked || strcasecmp(asked, have) == 0; }

static bool ep_fits(const struct fi_ep_attr *a)
{
	if (!a)
		return true;
	return (a->type == FI_EP_UNSPEC || a->type == FI_EP_RDM) && (!a->protocol || a->protocol == PM_PROTOCOL) &&
	       a->protocol_version <= PM_PROTOCOL_VERSION && a->max_msg_size <= PM_MAX_MESSAGE &&
	       a->max_order_raw_size <= PM_MAX_MESSAGE && a->max_order_war_size <= PM_MAX_MESSAGE &&
	       a->max_order_waw_size <= PM_MAX_MESSAGE && a->msg_prefix_size == 0 && a->tx_ctx_cnt <= 1 && a->rx_ctx_cnt <= 1 &&
	       a->auth_key_size == 0;
}

/* Operations complete in any order: a short message may overtake the bytes of a long one. */
static bool tx_fits(const struct fi_tx_attr *a)
{
	if (!a)
		return true;
	return subset(a->caps, CAPS) && subset(a->op_flags, OP_FLAGS) && subset(a->msg_order, ORDER) && a->comp_order == 0 &&
	       a->inject_size <= PM_INJECT && a->size <= PM_TX_SIZE && a->iov_limit <= 1 && a->rma_iov_limit <= 1;
}

static bool rx_fits(const struct fi_rx_attr *a)
{
	if (!a)
		return true;
	return subset(a->caps, CAPS) && subset(a->op_flags, OP_FLAGS) && subset(a->msg_order, ORDER) && a->comp_order == 0 &&
	       a->iov_limit <= 1;
}

static bool domain_fits(const struct fi_domain_attr *a)
{
	if (!a)
		return true;
	return same(a->name, PM_NAME) && a->mr_key_size <= 8 && a->cq_data_size <= 8 && subset(a->caps, CAPS) &&
	       a->ep_cnt <= PM_ENDPOINTS && a->mr_iov_limit <= 1 && a->auth_key_size == 0;
}

static bool fits(const struct fi_info *h)
{
	if (!h)
		return true;
	if (!subset(h->caps, CAPS) || (h->addr_format != FI_FORMAT_UNSPEC && h->addr_format != FI_ADDR_PSMX2))
		return false;
	if (!ep_fits(h->ep_attr) || !domain_fits(h->domain_attr) || !tx_fits(h->tx_attr) || !rx_fits(h->rx_attr))
		return false;
	if (h->fabric_attr && (!same(h->fabric_attr->name, PM_NAME) || !same(h->fabric_attr->prov_name, PM_NAME)))
		return false;
	return true;
}

/* What the program asked for, or what it gets if it did not say. */
#define CHOSEN(field, standard) (hints && hints->domain_attr && hints->domain_attr->field ? hints->domain_attr->field : (standard))

/*
 * Offsets and keys of the program's choice would do. But all domains of a process share one space of keys,
 * so a program that can do with others gets those.
 */
static int mr_mode(uint32_t version, const struct fi_info *hints)
{
	int asked = hints && hints->domain_attr ? hints->domain_attr->mr_mode : 0;
	if (FI_VERSION_LT(version, FI_VERSION(1, 5)))
		return asked == PM_MR_BASIC ? PM_MR_BASIC : PM_MR_SCALABLE;
	if (asked & PM_MR_BASIC)
		return PM_MR_BASIC;
	if (asked == PM_MR_SCALABLE)
		return PM_MR_SCALABLE;
	return asked & (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
}

static void fill_domain(struct fi_domain_attr *a, uint32_t version, const struct fi_info *hints)
{
	a->name = strdup(PM_NAME);
	a->threading = CHOSEN(threading, FI_THREAD_SAFE);
	a->control_progress = CHOSEN(control_progress, FI_PROGRESS_MANUAL);
	a->data_progress = CHOSEN(data_progress, FI_PROGRESS_MANUAL);
	a->resource_mgmt = FI_RM_ENABLED;
	a->av_type = CHOSEN(av_type, FI_AV_TABLE);
	a->mr_mode = mr_mode(version, hints);
	a->mr_key_size = 8;
	a->cq_data_size = 8;
	a->cq_cnt = a->cntr_cnt = 256;
	a->ep_cnt = a->tx_ctx_cnt = a->rx_ctx_cnt = PM_ENDPOINTS;
	a->max_ep_tx_ctx = a->max_ep_rx_ctx = 1;
	a->mr_iov_limit = 1;
	a->mr_cnt = 1 << 20;
	a->caps = CAPS_GIVEN;
	pm_domain_tail(a)->max_cntr_value = pm_domain_tail(a)->max_err_cntr_value = UINT64_MAX;
}

static void fill_ep(struct fi_ep_attr *a)
{
	a->type = FI_EP_RDM;
	a->protocol = PM_PROTOCOL;
	a->protocol_version = PM_PROTOCOL_VERSION;
	a->max_msg_size = PM_MAX_MESSAGE;
	a->max_order_raw_size = a->max_order_war_size = a->max_order_waw_size = PM_MAX_MESSAGE;
	a->mem_tag_format = ~0ULL;
	a->tx_ctx_cnt = a->rx_ctx_cnt = 1;
}

static void fill_sides(struct fi_info *i, const struct fi_info *hints)
{
	i->tx_attr->caps = i->caps & TX_CAPS;
	i->tx_attr->op_flags = hints && hints->tx_attr ? hints->tx_attr->op_flags : 0;
	i->tx_attr->msg_order = ORDER;
	i->tx_attr->inject_size = PM_INJECT;
	i->tx_attr->size = PM_TX_SIZE;
	i->tx_attr->iov_limit = i->tx_attr->rma_iov_limit = 1;
	i->rx_attr->caps = i->caps & RX_CAPS;
	i->rx_attr->op_flags = hints && hints->rx_attr ? hints->rx_attr->op_flags : 0;
	i->rx_attr->msg_order = ORDER;
	i->rx_attr->size = hints && hints->rx_attr && hints->rx_attr->size > PM_RX_SIZE ? hints->rx_attr->size : PM_RX_SIZE;
	i->rx_attr->iov_limit = 1;
}

/* Programs show it. Peers need that of an endpoint, which has a port. */
static int fill_source(struct fi_info *i)
{
	const char *rank = getenv("SCORE_RANK");

	i->src_addr = pm_name_of_rank(rank ? (uint32_t)strtoul(rank, NULL, 10) : 0);
	i->src_addrlen = i->src_addr ? PM_NAME_BYTES : 0;
	return i->src_addr ? 0 : -FI_ENOMEM;
}

int pm_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
	       struct fi_info **info)
{
	struct fi_info *i;

	if (!getenv("SCORE_PM_FD") && !getenv("SCORE_PM_SOCKET"))
		return -FI_ENODATA; /* not a rank of a job with channels */
	if (node)
		return -FI_ENODATA; /* ranks have no addresses that could be looked up */
	if (!(flags & FI_PROV_ATTR_ONLY) && !fits(hints))
		return -FI_ENODATA;
	i = pm_allocinfo();
	if (!i)
		return -FI_ENOMEM;
	i->caps = hints && hints->caps ? hints->caps | CAPS_GIVEN : CAPS;
	if ((i->caps & CAPS_SIDES) == 0)
		i->caps |= CAPS_SIDES & (i->caps & (FI_RMA | FI_ATOMIC) ? ~0ULL : FI_SEND | FI_RECV);
	i->addr_format = FI_ADDR_PSMX2;
	fill_sides(i, hints);
	fill_ep(i->ep_attr);
	fill_domain(i->domain_attr, version, hints);
	if (fill_source(i)) {
		pm_freeinfo(i);
		return -FI_ENOMEM;
	}
	i->fabric_attr->name = strdup(PM_NAME);
	i->fabric_attr->prov_version = FI_VERSION(1, 0);
	i->fabric_attr->api_version = version;
	*info = i;
	return 0;
}
