/* A fault of Open MPI that loses data, and goes away where it uses this library. */
#ifndef SCORE_OPENMPI_H
#define SCORE_OPENMPI_H

/* pm_mend_openmpi is called when a program learns of its peers: Open MPI has chosen its layers then. */
void pm_mend_openmpi(void);

#endif
