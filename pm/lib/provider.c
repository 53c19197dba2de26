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
	return &provider;
}

uint32_t pm_idle_reads(void)
{
	static _Atomic uint32_t reads;
	uint32_t n = atomic_load_explicit(&reads, memory_order_relaxed);

	if (n == 0) {
		n = (uint32_t)score_idle_reads();
		atomic_store_explicit(&reads, n, memory_order_relaxed);
	}
	return n;
}
