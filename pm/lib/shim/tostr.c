/* fi_tostr: values and structs as text. */
#define _GNU_SOURCE
#include "libfabric.h"

#include <inttypes.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* text is a buffer that is being filled; what does not fit is left out. */
struct text {
	char *at;
	size_t room;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at, t->room, format, args);
	va_end(args);
	if (n < 0 || t->room == 0)
		return;
	if ((size_t)n >= t->room)
		n = (int)t->room - 1;
	t->at += n;
	t->room -= (size_t)n;
}

/* name is a value, or a flag, as programs spell it. */
struct name {
	uint64_t value;
	const char *text;
};

#define N(value) {value, #value}
#define END {0, NULL}

static const struct name flags[] = {
	N(FI_MSG), N(FI_RMA), N(FI_TAGGED), N(FI_ATOMIC), N(FI_MULTICAST), N(FI_COLLECTIVE), N(FI_READ), N(FI_WRITE), N(FI_RECV),
	N(FI_SEND), N(FI_REMOTE_READ), N(FI_REMOTE_WRITE), N(FI_MULTI_RECV), N(FI_REMOTE_CQ_DATA), N(FI_MORE), N(FI_PEEK),
	N(FI_TRIGGER), N(FI_FENCE), N(FI_COMPLETION), N(FI_INJECT), N(FI_INJECT_COMPLETE), N(FI_TRANSMIT_COMPLETE),
	N(FI_DELIVERY_COMPLETE), N(FI_AFFINITY), N(FI_COMMIT_COMPLETE), N(FI_MATCH_COMPLETE), N(FI_HMEM),
	N(FI_RMA_PMEM), N(FI_SOURCE_ERR), N(FI_LOCAL_COMM), N(FI_REMOTE_COMM), N(FI_SHARED_AV), N(FI_NUMERICHOST),
	N(FI_RMA_EVENT), N(FI_SOURCE), N(FI_NAMED_RX_CTX), N(FI_DIRECTED_RECV), END,
};
static const struct name modes[] = {
	N(FI_CONTEXT), N(FI_MSG_PREFIX), N(FI_ASYNC_IOV), N(FI_RX_CQ_DATA), N(FI_CONTEXT2),
	/* The headers of libfabric 2 lack these, or warn. */
	{1ULL << 55, "FI_LOCAL_MR"}, {1ULL << 54, "FI_NOTIFY_FLAGS_ONLY"}, {1ULL << 53, "FI_RESTRICTED_COMP"},
	{1ULL << 51, "FI_BUFFERED_RECV"}, END,
};
static const struct name orders[] = {
	N(FI_ORDER_RAR), N(FI_ORDER_RAW), N(FI_ORDER_RAS), N(FI_ORDER_WAR), N(FI_ORDER_WAW), N(FI_ORDER_WAS), N(FI_ORDER_SAR),
	N(FI_ORDER_SAW), N(FI_ORDER_SAS), N(FI_ORDER_RMA_RAR), N(FI_ORDER_RMA_RAW), N(FI_ORDER_RMA_WAR), N(FI_ORDER_RMA_WAW),
	N(FI_ORDER_ATOMIC_RAR), N(FI_ORDER_ATOMIC_RAW), N(FI_ORDER_ATOMIC_WAR), N(FI_ORDER_ATOMIC_WAW), END,
};
static const struct name mr_modes[] = {
	{PM_MR_BASIC, "FI_MR_BASIC"}, {PM_MR_SCALABLE, "FI_MR_SCALABLE"}, N(FI_MR_LOCAL), N(FI_MR_RAW), N(FI_MR_VIRT_ADDR), N(FI_MR_ALLOCATED),
	N(FI_MR_PROV_KEY), N(FI_MR_MMU_NOTIFY), N(FI_MR_RMA_EVENT), N(FI_MR_ENDPOINT), N(FI_MR_HMEM), N(FI_MR_COLLECTIVE), END,
};
static const struct name ep_types[] = {
	N(FI_EP_UNSPEC), N(FI_EP_MSG), N(FI_EP_DGRAM), N(FI_EP_RDM), END,
};
static const struct name formats[] = {
	N(FI_FORMAT_UNSPEC), N(FI_SOCKADDR), N(FI_SOCKADDR_IN), N(FI_SOCKADDR_IN6), N(FI_ADDR_STR), N(FI_ADDR_PSMX2), END,
};
static const struct name threadings[] = {
	N(FI_THREAD_UNSPEC), N(FI_THREAD_SAFE), N(FI_THREAD_FID), N(FI_THREAD_DOMAIN), N(FI_THREAD_COMPLETION),
	N(FI_THREAD_ENDPOINT), END,
};
static const struct name progresses[] = {N(FI_PROGRESS_UNSPEC), N(FI_PROGRESS_AUTO), N(FI_PROGRESS_MANUAL), END};
static const struct name managements[] = {N(FI_RM_UNSPEC), N(FI_RM_DISABLED), N(FI_RM_ENABLED), END};
static const struct name av_types[] = {N(FI_AV_UNSPEC), N(FI_AV_MAP), N(FI_AV_TABLE), END};
static const struct name cq_formats[] = {
	N(FI_CQ_FORMAT_UNSPEC), N(FI_CQ_FORMAT_CONTEXT), N(FI_CQ_FORMAT_MSG), N(FI_CQ_FORMAT_DATA), N(FI_CQ_FORMAT_TAGGED), END,
};
static const struct name datatypes[] = {
	N(FI_INT8), N(FI_UINT8), N(FI_INT16), N(FI_UINT16), N(FI_INT32), N(FI_UINT32), N(FI_INT64), N(FI_UINT64), N(FI_FLOAT),
	N(FI_DOUBLE), N(FI_FLOAT_COMPLEX), N(FI_DOUBLE_COMPLEX), N(FI_LONG_DOUBLE), N(FI_LONG_DOUBLE_COMPLEX), END,
};
static const struct name operations[] = {
	N(FI_MIN), N(FI_MAX), N(FI_SUM), N(FI_PROD), N(FI_LOR), N(FI_LAND), N(FI_BOR), N(FI_BAND), N(FI_LXOR), N(FI_BXOR),
	N(FI_ATOMIC_READ), N(FI_ATOMIC_WRITE), N(FI_CSWAP), N(FI_CSWAP_NE), N(FI_CSWAP_LE), N(FI_CSWAP_LT), N(FI_CSWAP_GE),
	N(FI_CSWAP_GT), N(FI_MSWAP), END,
};

static void value(struct text *t, const struct name *names, uint64_t v)
{
	for (; names->text; names++)
		if (names->value == v) {
			add(t, "%s", names->text);
			return;
		}
	add(t, "%#" PRIx64, v);
}

static void set(struct text *t, const struct name *names, uint64_t v)
{
	const char *comma = "";

	for (; names->text; names++)
		if (v & names->value) {
			add(t, "%s%s", comma, names->text);
			comma = ", ";
		}
}

static void sets(struct text *t, int deep, const char *name, const struct name *names, uint64_t v)
{
	add(t, "%*s%s: [ ", deep, "", name);
	set(t, names, v);
	add(t, " ]\n");
}

static void values(struct text *t, int deep, const char *name, const struct name *names, uint64_t v)
{
	add(t, "%*s%s: ", deep, "", name);
	value(t, names, v);
	add(t, "\n");
}

static void number(struct text *t, int deep, const char *name, uint64_t v) { add(t, "%*s%s: %" PRIu64 "\n", deep, "", name, v); }

static void head(struct text *t, int deep, const char *name, const void *part)
{
	add(t, "%*s%s:%s\n", deep, "", name, part ? "" : " (null)");
}

static void tx(struct text *t, int deep, const struct fi_tx_attr *a)
{
	head(t, deep, "fi_tx_attr", a);
	if (!a)
		return;
	sets(t, deep + 4, "caps", flags, a->caps);
	sets(t, deep + 4, "mode", modes, a->mode);
	sets(t, deep + 4, "op_flags", flags, a->op_flags);
	sets(t, deep + 4, "msg_order", orders, a->msg_order);
	number(t, deep + 4, "inject_size", a->inject_size);
	number(t, deep + 4, "size", a->size);
	number(t, deep + 4, "iov_limit", a->iov_limit);
	number(t, deep + 4, "rma_iov_limit", a->rma_iov_limit);
}

static void rx(struct text *t, int deep, const struct fi_rx_attr *a)
{
	head(t, deep, "fi_rx_attr", a);
	if (!a)
		return;
	sets(t, deep + 4, "caps", flags, a->caps);
	sets(t, deep + 4, "mode", modes, a->mode);
	sets(t, deep + 4, "op_flags", flags, a->op_flags);
	sets(t, deep + 4, "msg_order", orders, a->msg_order);
	number(t, deep + 4, "size", a->size);
	number(t, deep + 4, "iov_limit", a->iov_limit);
}

static void ep(struct text *t, int deep, const struct fi_ep_attr *a)
{
	head(t, deep, "fi_ep_attr", a);
	if (!a)
		return;
	values(t, deep + 4, "type", ep_types, a->type);
	add(t, "%*sprotocol: %#x\n", deep + 4, "", a->protocol);
	number(t, deep + 4, "protocol_version", a->protocol_version);
	number(t, deep + 4, "max_msg_size", a->max_msg_size);
	number(t, deep + 4, "msg_prefix_size", a->msg_prefix_size);
	number(t, deep + 4, "max_order_raw_size", a->max_order_raw_size);
	number(t, deep + 4, "max_order_war_size", a->max_order_war_size);
	number(t, deep + 4, "max_order_waw_size", a->max_order_waw_size);
	add(t, "%*smem_tag_format: %#" PRIx64 "\n", deep + 4, "", a->mem_tag_format);
	number(t, deep + 4, "tx_ctx_cnt", a->tx_ctx_cnt);
	number(t, deep + 4, "rx_ctx_cnt", a->rx_ctx_cnt);
}

static void domain(struct text *t, int deep, const struct fi_domain_attr *a)
{
	head(t, deep, "fi_domain_attr", a);
	if (!a)
		return;
	add(t, "%*sname: %s\n", deep + 4, "", a->name ? a->name : "(null)");
	values(t, deep + 4, "threading", threadings, a->threading);
	values(t, deep + 4, "control_progress", progresses, a->control_progress);
	values(t, deep + 4, "data_progress", progresses, a->data_progress);
	values(t, deep + 4, "resource_mgmt", managements, a->resource_mgmt);
	values(t, deep + 4, "av_type", av_types, a->av_type);
	sets(t, deep + 4, "mr_mode", mr_modes, (uint64_t)a->mr_mode);
	number(t, deep + 4, "mr_key_size", a->mr_key_size);
	number(t, deep + 4, "cq_data_size", a->cq_data_size);
	number(t, deep + 4, "cq_cnt", a->cq_cnt);
	number(t, deep + 4, "ep_cnt", a->ep_cnt);
	number(t, deep + 4, "cntr_cnt", a->cntr_cnt);
	number(t, deep + 4, "mr_iov_limit", a->mr_iov_limit);
	number(t, deep + 4, "mr_cnt", a->mr_cnt);
	sets(t, deep + 4, "caps", flags, a->caps);
	sets(t, deep + 4, "mode", modes, a->mode);
}

static void version(struct text *t, uint32_t v) { add(t, "%u.%u", FI_MAJOR(v), FI_MINOR(v)); }

static void fabric(struct text *t, int deep, const struct fi_fabric_attr *a)
{
	head(t, deep, "fi_fabric_attr", a);
	if (!a)
		return;
	add(t, "%*sname: %s\n%*sprov_name: %s\n%*sprov_version: ", deep + 4, "", a->name ? a->name : "(null)", deep + 4, "",
	    a->prov_name ? a->prov_name : "(null)", deep + 4, "");
	version(t, a->prov_version);
	add(t, "\n%*sapi_version: ", deep + 4, "");
	version(t, a->api_version);
	add(t, "\n");
}

static void info(struct text *t, const struct fi_info *i)
{
	add(t, "fi_info:\n");
	sets(t, 4, "caps", flags, i->caps);
	sets(t, 4, "mode", modes, i->mode);
	values(t, 4, "addr_format", formats, i->addr_format);
	number(t, 4, "src_addrlen", i->src_addrlen);
	number(t, 4, "dest_addrlen", i->dest_addrlen);
	tx(t, 4, i->tx_attr);
	rx(t, 4, i->rx_attr);
	ep(t, 4, i->ep_attr);
	domain(t, 4, i->domain_attr);
	fabric(t, 4, i->fabric_attr);
}

static void print(struct text *t, const void *data, enum fi_type type)
{
	switch (type) {
	case FI_TYPE_INFO: return info(t, data);
	case FI_TYPE_TX_ATTR: return tx(t, 0, data);
	case FI_TYPE_RX_ATTR: return rx(t, 0, data);
	case FI_TYPE_EP_ATTR: return ep(t, 0, data);
	case FI_TYPE_DOMAIN_ATTR: return domain(t, 0, data);
	case FI_TYPE_FABRIC_ATTR: return fabric(t, 0, data);
	case FI_TYPE_EP_TYPE: return value(t, ep_types, *(const enum fi_ep_type *)data);
	case FI_TYPE_CAPS:
	case FI_TYPE_OP_FLAGS:
	case FI_TYPE_CQ_EVENT_FLAGS: return set(t, flags, *(const uint64_t *)data);
	case FI_TYPE_MODE: return set(t, modes, *(const uint64_t *)data);
	case FI_TYPE_MSG_ORDER: return set(t, orders, *(const uint64_t *)data);
	case FI_TYPE_MR_MODE: return set(t, mr_modes, (uint64_t)*(const int *)data);
	case FI_TYPE_ADDR_FORMAT: return value(t, formats, *(const uint32_t *)data);
	case FI_TYPE_THREADING: return value(t, threadings, *(const enum fi_threading *)data);
	case FI_TYPE_PROGRESS: return value(t, progresses, *(const enum fi_progress *)data);
	case FI_TYPE_AV_TYPE: return value(t, av_types, *(const enum fi_av_type *)data);
	case FI_TYPE_CQ_FORMAT: return value(t, cq_formats, *(const enum fi_cq_format *)data);
	case FI_TYPE_ATOMIC_TYPE: return value(t, datatypes, *(const enum fi_datatype *)data);
	case FI_TYPE_ATOMIC_OP: return value(t, operations, *(const enum fi_op *)data);
	case FI_TYPE_PROTOCOL: return add(t, "%#x", *(const uint32_t *)data);
	case FI_TYPE_VERSION: return add(t, "%s", "libfabric of score");
	default: return add(t, "Unknown type");
	}
}

EXPORT char *fi_tostr_r(char *buf, size_t length, const void *data, enum fi_type type)
{
	struct text t = {buf, length};

	if (!data || !length)
		return NULL;
	*buf = 0;
	print(&t, data, type);
	return buf;
}

EXPORT char *fi_tostr(const void *data, enum fi_type type)
{
	static __thread char buf[8192];

	return fi_tostr_r(buf, sizeof buf, data, type);
}
