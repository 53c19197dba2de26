/* Faults of Open MPI that go away where it uses this library: two lose data, one waits for ever, one for a second. */
#ifndef SCORE_OPENMPI_H
#define SCORE_OPENMPI_H

#include <stdbool.h>
#include <stdint.h>

/* Not libfabric's: a receive of a claimed message answers it. */
#define PM_ANSWER (1ULL << 61)

/* The bits of tags by which Open MPI's mtl/ofi asks for an answer, and answers, in its standard layout. */
#define OPENMPI_SYNC (1ULL << 32)
#define OPENMPI_SYNC_ACK (1ULL << 33)

/* pm_mend_openmpi is called when a program learns of its peers: Open MPI has chosen its layers then. */
void pm_mend_openmpi(void);

/* pm_hurry_openmpi is called when a program opens a domain: btl/ofi is there if the program is it. */
void pm_hurry_openmpi(void);

/* pm_answers reports whether Open MPI forgets to answer a claimed message, which it receives with this mask. */
bool pm_answers(uint64_t ignore);

#endif
