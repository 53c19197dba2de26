/* Finds the library with Go in it, when a program first asks for the provider. */
#ifndef SCORE_LOAD_H
#define SCORE_LOAD_H

#include "../common.h"

#include <rdma/providers/fi_prov.h>

/*
 * The provider of libscore.so.1, which lies beside this library. NULL: this process is no rank with
 * channels, or the library could not be loaded, which one sentence on standard error says.
 */
struct fi_provider *score_load(void);

#endif
