/* Memory of infos: any library may free what another one allocated, all by malloc. */
#include "common.h"

#include <stdlib.h>

static void free_parts(struct fi_info *i)
{
	free(i->src_addr);
	free(i->dest_addr);
	free(i->tx_attr);
	free(i->rx_attr);
	if (i->ep_attr)
		free(i->ep_attr->auth_key);
	free(i->ep_attr);
	if (i->domain_attr) {
		free(i->domain_attr->auth_key);
		free(i->domain_attr->name);
	}
	free(i->domain_attr);
	if (i->fabric_attr) {
		free(i->fabric_attr->name);
		free(i->fabric_attr->prov_name);
	}
	free(i->fabric_attr);
}

void pm_freeinfo(struct fi_info *i)
{
	while (i) {
		struct fi_info *next = i->next;
		free_parts(i);
		free(i);
		i = next;
	}
}

struct fi_info *pm_allocinfo(void)
{
	struct fi_info *i = calloc(1, sizeof *i);

	if (!i)
		return NULL;
	i->tx_attr = calloc(1, sizeof *i->tx_attr);
	i->rx_attr = calloc(1, sizeof *i->rx_attr);
	i->ep_attr = calloc(1, sizeof *i->ep_attr);
	i->domain_attr = calloc(1, PM_DOMAIN_1_17 + sizeof(struct pm_domain_tail));
	i->fabric_attr = calloc(1, sizeof *i->fabric_attr);
	if (i->tx_attr && i->rx_attr && i->ep_attr && i->domain_attr && i->fabric_attr)
		return i;
	pm_freeinfo(i);
	return NULL;
}
