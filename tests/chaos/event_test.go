package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is a fault that has happened, or is happening.
type event struct {
	fault  string
	victim string // a server, a node or a submission's token
	from   time.Time
	to     time.Time // zero: it still happens
	// ends means that jobs with a part on the victim may end by it, with a sentence.
	ends bool
}

// aftermath is how long after a fault a job may still end by it: what a leader waits for a lost
// node, several times.
const aftermath = 30 * time.Second

// begin notes that a fault begins. The result notes its end, and whether jobs may end by it.
func (w *world) begin(fault, victim string) (end func(ends bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := len(w.events)
	w.events = append(w.events, event{fault: fault, victim: victim, from: time.Now(), ends: true})
	w.injected[fault]++
	return func(ends bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events[i].to, w.events[i].ends = time.Now(), ends
	}
}

// explained names a fault by which a submission may have ended; empty: there is none.
func (w *world) explained(s *submission) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return explains(w.events, s)
}

func explains(events []event, s *submission) string {
	victims := append(slices.Clone(s.nodes), s.token, s.server)
	for _, e := range events {
		over := !e.to.IsZero() && e.to.Add(aftermath).Before(s.began)
		if e.ends && !over && e.from.Before(s.ended) && slices.Contains(victims, e.victim) {
			return e.fault + " of " + e.victim
		}
	}
	return ""
}

// during lists what happened while a submission ran, a line each.
func (w *world) during(s *submission) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines strings.Builder
	for _, e := range w.events {
		if (e.to.IsZero() || e.to.After(s.began)) && e.from.Before(s.ended) {
			fmt.Fprintf(&lines, "\n  %s to %s: %s, %s", clock(e.from), clock(e.to), e.fault, e.victim)
		}
	}
	return lines.String()
}

// clock is an instant as the daemons' logs show it.
func clock(t time.Time) string {
	if t.IsZero() {
		return "now"
	}
	return t.UTC().Format("15:04:05.000")
}

func sorted(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }
