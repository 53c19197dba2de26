package forward

import (
	"net/http"
	"time"
)

// AnswerGrace is how long a server that has stopped leading may take to answer earlier calls that
// must not be repeated, such as the call to stop leading.
const AnswerGrace = time.Second

// Grace returns how long the call waits for a server that has stopped leading.
func (b *Body) Grace(r *http.Request) time.Duration {
	if b.Streams() || b.Repeatable(r) {
		return 0 // the next leader is asked
	}
	return AnswerGrace
}

// Watch follows who leads, as far as this daemon knows.
type Watch struct {
	// Leader returns the leader's name; "": none.
	Leader func() string
	// Changed is closed when Leader may give another answer.
	Changed func() <-chan struct{}
	// Silence is how long there may be no leader before the last one counts as lost; 0: without
	// limit.
	Silence time.Duration
}

// While calls lost, until stop is called, if another daemon than leader has led for some time, or
// if there was no leader for too long.
func (w *Watch) While(leader string, grace func() time.Duration, lost func()) (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			changed := w.Changed()
			var late <-chan time.Time // nil while it leads
			switch now := w.Leader(); {
			case now == leader:
			case now != "":
				late, changed = time.After(grace()), nil
			case w.Silence > 0:
				late = time.After(w.Silence)
			}
			select {
			case <-changed:
			case <-late:
				lost()
				return
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-over }
}
