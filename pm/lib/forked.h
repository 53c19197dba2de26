/* Children of fork. */
#ifndef SCORE_FORKED_H
#define SCORE_FORKED_H

#include <stdbool.h>

/*
 * True in a child of fork. It has no thread of Go but the one that forked, so it must not enter Go;
 * what it calls fails, and what it closes only frees C memory.
 */
extern bool pm_forked;

#endif
