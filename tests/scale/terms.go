package scale

import (
	"fmt"
	"score/ctxswitch"
	"strings"
	"time"
)

// Terms are what a node's time from the planned instant until it runs consists of: each step, from
// its order to its last answer, and the error of the node's clock.
type Terms struct {
	Wake, Revoke, Flush, Save, Load, Go, Clock time.Duration
}

// lastNode is the node of a gang that ran last.
type lastNode struct {
	ran   int64
	terms Terms
}

// termsOf divides the time of a switch, after which the node ran.
func termsOf(r *ctxswitch.Record, ran int64) Terms {
	t := Terms{Wake: r.Wake()}
	rest := time.Duration(ran) - t.Wake
	for step, d := range map[ctxswitch.Step]*time.Duration{
		ctxswitch.Revoke: &t.Revoke, ctxswitch.Flush: &t.Flush, ctxswitch.Save: &t.Save, ctxswitch.Load: &t.Load, ctxswitch.Go: &t.Go,
	} {
		if took, ok := r.Took(step); ok {
			*d = took
			rest -= took
		}
	}
	t.Clock = rest
	return t
}

func (t *Terms) all() []*time.Duration {
	return []*time.Duration{&t.Wake, &t.Revoke, &t.Flush, &t.Save, &t.Load, &t.Go, &t.Clock}
}

func (t *Terms) add(more Terms) {
	for i, d := range more.all() {
		*t.all()[i] += *d
	}
}

func (t *Terms) divide(n int) {
	for _, d := range t.all() {
		*d /= time.Duration(max(n, 1))
	}
}

// String is a line for people, without what is nothing.
func (t *Terms) String() string {
	var parts []string
	for i, name := range []string{"wake", "revoke", "flush", "save", "load", "go", "clock"} {
		if d := *t.all()[i]; d != 0 {
			parts = append(parts, fmt.Sprint(name, " ", d.Round(time.Microsecond)))
		}
	}
	return strings.Join(parts, ", ")
}
