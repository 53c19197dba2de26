/*
 * A libpmix client whose job goes on without some of its ranks.
 *
 *   survive kill RANK...   these kill themselves, one after the other
 *   survive lose RANK...   these are lost with their node
 *   survive crash RANK...  these kill their steward, and are lost with it
 *
 * The others are told by an event of each, try a fence of all after it, and meet among themselves in the end.
 */
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int registered, heard[most]; /* codes by rank */
static pmix_proc_t me;

static void hear(size_t id, pmix_status_t code, const pmix_proc_t *source, pmix_info_t *info, size_t n, pmix_info_t *results, size_t nresults,
		pmix_event_notification_cbfunc_fn_t done, void *data) {
	pmix_rank_t of = source->rank;
	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) of = info[i].value.data.proc->rank;
	pthread_mutex_lock(&lock);
	if (of < most && !heard[of]) heard[of] = code;
	pthread_cond_broadcast(&news);
	pthread_mutex_unlock(&lock);
	if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void ready(pmix_status_t status, size_t id, void *data) {
	pthread_mutex_lock(&lock);
	registered = 1;
	pthread_cond_broadcast(&news);
	pthread_mutex_unlock(&lock);
}

static void await(int *what) {
	pthread_mutex_lock(&lock);
	while (!*what) pthread_cond_wait(&news, &lock);
	pthread_mutex_unlock(&lock);
}

/* name is the same with all versions of libpmix, whose texts differ. */
static const char *name(pmix_status_t status) {
	switch (status) {
	case PMIX_SUCCESS: return "SUCCESS";
	case PMIX_ERR_UNREACH: return "UNREACHABLE";
	case PMIX_ERR_PROC_ABORTED_BY_SIG: return "PROC-ABORTED-BY-SIG";
	default: return PMIx_Error_string(status);
	}
}

static void tell(const char *what, int of, pmix_status_t status) {
	printf("rank %d: %s %d: %s\n", me.rank, what, of, name(status));
	fflush(stdout);
}

int main(int argc, char **argv) {
	pmix_proc_t all, left[most];
	pmix_value_t *value;
	int n = 0;
	if (argc < 3 || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
	PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
	if (PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS) return 1;
	for (int rank = 0; rank < (int)value->data.uint32 && rank < most; rank++) {
		int dies = 0;
		for (int i = 2; i < argc; i++) dies |= atoi(argv[i]) == rank;
		if (dies) continue;
		PMIX_LOAD_PROCID(&left[n], me.nspace, rank);
		n++;
	}
	PMIx_Register_event_handler(NULL, 0, NULL, 0, hear, ready, NULL);
	await(&registered);
	tell("fence before", -1, PMIx_Fence(&all, 1, NULL, 0));
	for (int i = 2; i < argc; i++) {
		int rank = atoi(argv[i]);
		if (rank == (int)me.rank && !strcmp(argv[1], "kill")) raise(SIGKILL);
		if (rank == (int)me.rank && !strcmp(argv[1], "crash")) kill(getppid(), SIGKILL);
		if (rank == (int)me.rank) pause();
		await(&heard[rank]);
		tell("heard of", rank, heard[rank]);
		if (!strcmp(argv[1], "kill")) tell("fence without", rank, PMIx_Fence(&all, 1, NULL, 0));
	}
	if (strcmp(argv[1], "kill")) tell("fence after", -1, PMIx_Fence(&all, 1, NULL, 0));
	tell("those that are left", n, PMIx_Fence(left, n, NULL, 0));
	return PMIx_Finalize(NULL, 0);
}
