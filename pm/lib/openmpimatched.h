/* What Open MPI loses of messages that a matched probe has found. */
#ifndef SCORE_OPENMPIMATCHED_H
#define SCORE_OPENMPIMATCHED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* pm_found looks for a name of a library, and stores its address in the pointer at to. */
static inline bool pm_found(void *to, void *library, const char *name)
{
	return (*(void **)to = dlsym(library, name)) != NULL;
}

/* A function of Open MPI's point-to-point layer: its result is an MPI_Status, or the address of an MPI_Request. */
typedef int pm_receive_matched(void *buffer, size_t count, void *type, void **message, void *result);

/* pm_mend_matched puts functions that store each byte in place of Open MPI's two. */
void pm_mend_matched(void *library, pm_receive_matched **nonblocking, pm_receive_matched **blocking);

#endif
