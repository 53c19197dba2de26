/* Times what a client of PMIx does, in microseconds; rank 0 says it. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
enum { GETS = 2000, FENCES = 200, CARD = 256 };
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}
static void need(pmix_status_t status, const char *what) {
	if (status == PMIX_SUCCESS) return;
	fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
	exit(1);
}
int main(void) {
	pmix_proc_t me, all, other;
	pmix_value_t *value, card = {.type = PMIX_BYTE_OBJECT};
	pmix_info_t collect;
	bool yes = true;
	char bytes[CARD];
	int i;
	double begin = now(), init, first, again, fence;
	need(PMIx_Init(&me, NULL, 0), "init");
	init = now() - begin;
	PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
	PMIX_LOAD_PROCID(&other, me.nspace, 1 - (int)me.rank);
	memset(bytes, 'a' + me.rank, sizeof bytes);
	card.data.bo.bytes = bytes;
	card.data.bo.size = sizeof bytes;
	need(PMIx_Put(PMIX_GLOBAL, "card", &card), "put");
	need(PMIx_Commit(), "commit");
	PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
	need(PMIx_Fence(&all, 1, &collect, 1), "fence");
	begin = now();
	need(PMIx_Get(&other, "card", NULL, 0, &value), "first get");
	first = now() - begin;
	if (value->data.bo.size != CARD || value->data.bo.bytes[0] != 'a' + (char)other.rank) return 1;
	PMIX_VALUE_RELEASE(value);
	begin = now();
	for (i = 0; i < GETS; i++) {
		need(PMIx_Get(&other, "card", NULL, 0, &value), "get");
		PMIX_VALUE_RELEASE(value);
	}
	again = (now() - begin) / GETS;
	need(PMIx_Fence(&all, 1, NULL, 0), "fence");
	begin = now();
	for (i = 0; i < FENCES; i++) need(PMIx_Fence(&all, 1, NULL, 0), "empty fence");
	fence = (now() - begin) / FENCES;
	if (me.rank == 0) printf("init %.3f first %.3f again %.3f fence %.3f\n", init, first, again, fence);
	return PMIx_Finalize(NULL, 0);
}
