/* The provider as libfabric loads it: FI_PROVIDER_PATH, libscore-fi.so. */
#include "objects.h"
#include <pthread.h>

static void cleanup(void) {}

static struct fi_provider provider = {
	.version = FI_VERSION(1, 0), .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), .name = PM_NAME,
	.getinfo = pm_getinfo, .fabric = pm_fabric, .cleanup = cleanup,
};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void) { return &provider; }

const char *pm_strerror(int number)
{
	switch (number) {
	case FI_EOTHER:
		return "Unspecified error";
	case FI_ETOOSMALL:
		return "Provided buffer is too small";
	case FI_EOPBADSTATE:
		return "Operation not permitted in current state";
	case FI_EAVAIL:
		return "Error available";
	case FI_EBADFLAGS:
		return "Flags not supported";
	case FI_ENOEQ:
		return "Missing or unavailable event queue";
	case FI_EDOMAIN:
		return "Invalid resource domain";
	case FI_ENOCQ:
		return "Missing or unavailable completion queue";
	case FI_ETRUNC:
		return "Truncation error";
	case FI_ENOKEY:
		return "Required key not available";
	default:
		return strerror(number);
	}
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
