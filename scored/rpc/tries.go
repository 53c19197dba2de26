package rpc

import (
	"errors"
	"net"
	"time"

	"connectrpc.com/connect"
)

// tries decides whether output is fetched once more from an agent after it broke off.
type tries struct {
	limit   time.Time // when the agent has been away for too long
	cutOffs int       // in a row
	had     uint64    // how far the output had come
}

func newTries(now time.Time, reached uint64) *tries {
	return &tries{limit: now.Add(refetchPatience), had: reached}
}

// retry takes the end of a fetch that lasted from began to now.
func (t *tries) retry(began, now time.Time, reached uint64, err error) bool {
	lasted := now.Sub(began)
	if reached != t.had || lasted > refetchPatience {
		t.had, t.cutOffs = reached, 0
		t.limit = now.Add(refetchPatience)
	}
	// An agent that was there for a while, and of which nothing was to be had, may die
	// again and again under ranks that are silent.
	if lasted > refetchPause && !isDial(err) {
		t.limit = now.Add(refetchPatience)
	}
	// An agent that died has said nothing.
	if errors.Is(err, errCutOff) || connect.IsWireError(err) && connect.CodeOf(err) != connect.CodeUnavailable {
		t.cutOffs++
	}
	return t.cutOffs < cutOffsMost && !now.After(t.limit) && !isFinal(err)
}

// isFinal reports whether the agent has said that there is nothing to be had.
func isFinal(err error) bool {
	code := connect.CodeOf(err)
	return code == connect.CodeNotFound || code == connect.CodeDataLoss
}

// isDial reports whether nobody was reached at all.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
