package rpc

import (
	"errors"
	"net"
	"time"

	"connectrpc.com/connect"
)

// tries decides whether to fetch output again from an agent after a failure.
type tries struct {
	limit   time.Time // when the agent has been away too long
	cutOffs int       // streams closed early, in a row
	had     uint64    // how far the output had come
}

func newTries(now time.Time, reached uint64) *tries {
	return &tries{limit: now.Add(refetchPatience), had: reached}
}

// retry handles the end of a fetch that lasted from began to now. It reports whether to try again.
func (t *tries) retry(began, now time.Time, reached uint64, err error) bool {
	lasted := now.Sub(began)
	if reached != t.had || lasted > refetchPatience {
		t.had, t.cutOffs = reached, 0
		t.limit = now.Add(refetchPatience)
	}
	// While ranks are silent, an agent that was there for a while without sending anything may die
	// any number of times.
	if lasted > refetchPause && !isDial(err) {
		t.limit = now.Add(refetchPatience)
	}
	// An agent that died has not closed its stream itself.
	if errors.Is(err, errCutOff) || connect.IsWireError(err) && connect.CodeOf(err) != connect.CodeUnavailable {
		t.cutOffs++
	}
	return t.cutOffs < maxCutOffs && !now.After(t.limit) && !isFinal(err)
}

// isFinal reports whether the agent says that it has no output to send.
func isFinal(err error) bool {
	code := connect.CodeOf(err)
	return code == connect.CodeNotFound || code == connect.CodeDataLoss
}

// isDial reports whether no connection was made.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
