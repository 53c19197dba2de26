/* How often a program that looks again and again really looks. */
#ifndef SCORE_SPACING_H
#define SCORE_SPACING_H

#include <stdbool.h>

#include "forked.h"
#include "waiting.h"

/*
 * Programs look for messages between small pieces of their work, and a look at the network is a system
 * call. So after some in vain the next one is due when another part of the time waited so far is over,
 * which no wait notices.
 */
enum {
	SPACING_AFTER = 16,    /* looks in vain before the clock is read: one that waits for an answer never reads it */
	SPACING_PART = 32,
	SPACING_MOST_NS = 2000, /* a look takes a third of it */
};

struct pm_spacing {
	uint32_t vain; /* looks in vain, to SPACING_AFTER */
	int64_t since, due;
};

/* soon reports whether the next look is not due yet. */
static inline bool soon(const struct pm_spacing *s)
{
	return s->vain == SPACING_AFTER && !pm_forked && nanoseconds() < s->due;
}

/* looked is called after a look in vain. If it was busy with something else, the next one is due at once. */
static inline void looked(struct pm_spacing *s, bool busy)
{
	int64_t now, spacing;

	if (s->vain < SPACING_AFTER && ++s->vain < SPACING_AFTER)
		return;
	now = nanoseconds();
	if (s->since == 0)
		s->since = now;
	spacing = (now - s->since) / SPACING_PART;
	s->due = busy ? now : now + (spacing < SPACING_MOST_NS ? spacing : SPACING_MOST_NS);
}

/* found is called after a look that found something. */
static inline void found(struct pm_spacing *s) { s->vain = 0, s->since = 0; }

#endif
