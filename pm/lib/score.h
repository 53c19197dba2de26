/* What C and Go say to each other in this library. */
#ifndef SCORE_LIB_H
#define SCORE_LIB_H

#include <stdbool.h>
#include <stdint.h>

/* A completion, as package ofi writes it. */
typedef struct {
	uint64_t context;
	uint64_t flags;
	uint64_t length;
	uint64_t buffer;
	uint64_t data;
	uint64_t tag;
	uint64_t source;
	uint64_t err; /* libfabric's number of the error; 0: none */
} score_entry;

/* What a peek came upon: a message that matches; something else. */
enum { SCORE_FOUND = 1, SCORE_BUSY = 2 };

/* The arguments of an atomic operation; lengths are counts of elements. */
typedef struct {
	void *buf, *compare, *result;
	uint64_t count, to, offset, key, flags;
	uintptr_t context;
	int32_t op, datatype;
} score_atomic_args;

/* Words that a thread read before it waits, and their values. */
typedef struct {
	const uint64_t *word[2];
	uint64_t seen[2];
} score_watch;

#endif
