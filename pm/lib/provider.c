/*
 * The provider as libfabric loads it. The libraries in shim call this entry point; the library alone
 * is a provider, too.
 */
#include "objects.h"

static void cleanup(void) {}

static struct fi_provider provider = {
	.version = FI_VERSION(1, 0), .fi_version = PM_API, .name = PM_NAME,
	.getinfo = pm_getinfo, .fabric = pm_fabric, .cleanup = cleanup,
};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void)
{
	pm_return_faults();
	pm_visit();
	return &provider;
}

bool pm_crowded(void)
{
	static _Atomic int8_t crowded = -1;
	int8_t c = atomic_load_explicit(&crowded, memory_order_relaxed);

	if (c < 0) {
		c = score_crowded() != 0;
		atomic_store_explicit(&crowded, c, memory_order_relaxed);
	}
	return c;
}
