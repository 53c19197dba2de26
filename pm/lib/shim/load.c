/*
 * Go's runtime starts threads, reserves address space and takes signals over as soon as its library
 * is loaded. So the libraries that programs load have no Go in them: they load it when a rank first
 * asks for the provider. Any other process pays nothing.
 */
#define _GNU_SOURCE
#include "load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIBRARY "libscore.so.1"
/* The address space that Go's runtime reserves at its start, the channel, and some room; measured. */
#define ADDRESS_SPACE ((rlim_t)2 << 30)

/* address_space is what this process has of it, in bytes. */
static rlim_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* fits tells the user of a limit under which Go's runtime would end the process. */
static int fits(void)
{
	struct rlimit limit;
	rlim_t needed = address_space() + ADDRESS_SPACE;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed)
		return 1;
	fprintf(stderr, "score: messages over PM channels need %llu MiB of address space, and this process may have %llu: raise ulimit -v\n",
		(unsigned long long)(needed >> 20), (unsigned long long)(limit.rlim_cur >> 20));
	return 0;
}

static int differs(const char *variable, const char *rank_variable)
{
	const char *value = getenv(variable), *of_rank = getenv(rank_variable);

	return value && of_rank && strcmp(value, of_rank) != 0;
}

/*
 * Whether another launcher has started this process inside a rank, as mpirun in a script does: its
 * peers are no ranks of the job.
 */
static int launched_inside(void)
{
	static const char prefix[] = "score_"; /* of the job's number, in the namespace that the agent gives */
	const char *job = getenv("SCORE_JOB_ID"), *space = getenv("PMIX_NAMESPACE");
	const size_t n = sizeof prefix - 1;

	if (job && space && (strncmp(space, prefix, n) != 0 || strcmp(space + n, job) != 0))
		return 1;
	return differs("PMI_RANK", "SCORE_RANK") || differs("PMI_SIZE", "SCORE_SIZE");
}

static struct fi_provider *loaded;

static void load(void)
{
	void *library;
	struct fi_provider *(*ini)(void);

	if (launched_inside() || !fits())
		return;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* beside this one: $ORIGIN is in our search path */
	if (!library) {
		fprintf(stderr, "score: %s\n", dlerror());
		return;
	}
	ini = (struct fi_provider * (*)(void)) dlsym(library, "fi_prov_ini");
	if (!ini) {
		fprintf(stderr, "score: %s is not of this release: it has no provider\n", LIBRARY);
		return;
	}
	loaded = ini();
}

struct fi_provider *score_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!getenv("SCORE_PM_FD") && !getenv("SCORE_PM_SOCKET"))
		return NULL;
	pthread_once(&once, load);
	return loaded;
}
