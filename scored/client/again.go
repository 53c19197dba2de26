package client

import (
	"context"
	"errors"
	"score/scored/api"
	"score/scored/api/scorev1"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

const (
	// againFor is how long a call that no server could decide is repeated: two elections, and short
	// for a person at a terminal.
	againFor = 6 * time.Second
	// againPause is the time between two tries.
	againPause = 100 * time.Millisecond
	// notifyAfter is how long a call is repeated before the user gets a notice that it waits: an
	// election and a half.
	notifyAfter = 3 * time.Second
	// notifyGoneAfter is the same before the first call, while no daemon listens: no election is
	// expected that ends within that time.
	notifyGoneAfter = time.Second
)

// Patience is how long a call waits for a cluster that cannot answer.
type Patience struct {
	// Gone is how long it waits while no daemon answers, and Undecided while one does, and no
	// server can decide. Negative: forever.
	Gone, Undecided time.Duration
	// Waiting, if not nil, is called once per call with the reason why it waits.
	Waiting func(error)
}

// usual is the patience of calls whose context has none.
var usual = Patience{Gone: againFor, Undecided: againFor}

type patienceKey struct{}

// patienceOf returns the patience of a context's calls, and whether their user has chosen it.
func patienceOf(ctx context.Context) (p Patience, chosen bool) {
	if p, chosen = ctx.Value(patienceKey{}).(Patience); !chosen {
		p = usual
	}
	return p, chosen
}

// WithPatience returns a context whose calls have another patience.
func WithPatience(ctx context.Context, p Patience) context.Context {
	return context.WithValue(ctx, patienceKey{}, p)
}

// WithNotice returns a context whose calls have the usual patience, and call waiting as
// Patience.Waiting.
func WithNotice(ctx context.Context, waiting func(error)) context.Context {
	p := usual
	p.Waiting = waiting
	return WithPatience(ctx, p)
}

// Wait is one wait of a call or stream for a cluster that cannot answer.
type Wait struct {
	patience    Patience
	notifyAfter time.Duration
	since, gone time.Time // its beginning, and that of the latest time without any answer
	notified    bool
}

// NewWait returns a Wait that has not begun.
func (p Patience) NewWait() *Wait { return &Wait{patience: p, notifyAfter: notifyAfter} }

// Answered ends the wait.
func (w *Wait) Answered() { w.since, w.gone, w.notified = time.Time{}, time.Time{}, false }

// Continue reports whether to go on after a failure that may end by itself.
func (w *Wait) Continue(now time.Time, err error) bool {
	if w.since.IsZero() {
		w.since = now
	}
	switch {
	case IsUndecided(err):
		w.gone = time.Time{}
	case w.gone.IsZero():
		w.gone = now
	}
	began, limit := w.since, w.patience.Undecided
	if !w.gone.IsZero() {
		began, limit = w.gone, w.patience.Gone
	}
	if limit >= 0 && now.Sub(began) > limit {
		return false
	}
	if !w.notified && w.patience.Waiting != nil && now.Sub(w.since) >= w.notifyAfter {
		w.notified = true
		w.patience.Waiting(err)
	}
	return true
}

// again repeats calls that another server has to decide, or whose server was lost and that may be
// repeated safely, so that people do not notice when servers come and go. Other calls that may have
// changed something are made once.
func again(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		patience, chosen := patienceOf(ctx)
		wait, began, doubtful := patience.NewWait(), time.Now(), false
		for {
			response, err := next(ctx, request)
			if err == nil || ctx.Err() != nil || !mayRepeat(err, request, chosen) || !wait.Continue(time.Now(), err) {
				return response, err
			}
			if !pause(ctx) {
				return nil, err
			}
			doubtful = doubtful || !IsUndecided(err) && !isGone(err)
			if submission, is := request.Any().(*scorev1.SubmitRequest); is && doubtful {
				submission.WaitedNanos = time.Since(began).Nanoseconds()
			}
		}
	}
}

// pause waits between two tries, and reports whether the context goes on.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(againPause):
		return true
	case <-ctx.Done():
		return false
	}
}

// mayRepeat reports whether repeating the call is safe and can help; patient: the user waits for
// daemons that are not there.
func mayRepeat(err error, request connect.AnyRequest, patient bool) bool {
	failure, ok := errors.AsType[*connect.Error](err)
	if !ok || isUnsendable(err) {
		return false
	}
	// A server's own error is final; the loss of a connection has many forms.
	lost := failure.Code() == connect.CodeUnavailable || failure.Code() == connect.CodeCanceled || !connect.IsWireError(err)
	procedure := request.Spec().Procedure
	submission, _ := request.Any().(*scorev1.SubmitRequest)
	switch keyed := procedure == api.KeyedSubmit && len(submission.GetKey()) > 0; {
	case !lost:
		return false
	case keyed:
		return true
	case isGone(err) && !patient:
		return false
	}
	return IsUndecided(err) || api.Repeatable(procedure)
}

// IsUndecided reports whether the servers that could be reached have done nothing, since they have
// no majority or are about to have another leader.
func IsUndecided(err error) bool {
	failure, ok := errors.AsType[*connect.Error](err)
	return ok && failure.Meta().Get(api.Unchanged) != ""
}

// isGone reports whether no daemon listens.
func isGone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}
