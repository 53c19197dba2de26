/* How often a program that polls really reaches the network. */
#ifndef SCORE_SPACING_H
#define SCORE_SPACING_H

#include <stdbool.h>

#include "forked.h"
#include "waiting.h"

/*
 * Programs poll for messages between small pieces of their work, and a poll of the network is a system
 * call. So after some empty polls the next one is due when another part of the time waited so far is
 * over; that delays no message by more than this part.
 */
enum {
	SPACING_AFTER = 16,    /* empty polls before the clock is read: a program that waits for an answer never reads it */
	SPACING_PART = 32,
	SPACING_MOST_NS = 2000, /* a poll takes a third of it */
};

struct pm_spacing {
	uint32_t empty; /* empty polls in a row, up to SPACING_AFTER */
	int64_t since, due;
};

/* soon reports whether the next poll is not due yet. */
static inline bool soon(const struct pm_spacing *s)
{
	return s->empty == SPACING_AFTER && !pm_forked && nanoseconds() < s->due;
}

/* polled is called after an empty poll. If it was busy with something else, the next one is due at once. */
static inline void polled(struct pm_spacing *s, bool busy)
{
	int64_t now, spacing;

	if (s->empty < SPACING_AFTER && ++s->empty < SPACING_AFTER)
		return;
	now = nanoseconds();
	if (s->since == 0)
		s->since = now;
	spacing = (now - s->since) / SPACING_PART;
	s->due = busy ? now : now + (spacing < SPACING_MOST_NS ? spacing : SPACING_MOST_NS);
}

/* found is called after a poll that found something. */
static inline void found(struct pm_spacing *s) { s->empty = 0, s->since = 0; }

#endif
