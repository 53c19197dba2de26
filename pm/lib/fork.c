/* Children of fork: see pm_forked. */
#include "objects.h"
#include <pthread.h>

bool pm_forked;

static void in_child(void) { pm_forked = true; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }
