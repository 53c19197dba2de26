package forward

import (
	"net/http"
	"time"
)

// AnswerGrace is how long a server that led may take to answer what it was asked before, such as to
// lead no more, and what the next one must not be asked again.
const AnswerGrace = time.Second

// Grace returns how long a server that leads no more is waited for with the call.
func (b *Body) Grace(r *http.Request) time.Duration {
	if b.Streams() || b.Repeatable(r) {
		return 0 // the next leader is asked
	}
	return AnswerGrace
}

// Watch tells who leads, as far as is known here.
type Watch struct {
	// Leader names the one that leads; "": none.
	Leader func() string
	// Changed is closed when Leader may give another answer.
	Changed func() <-chan struct{}
	// Silence is how long there may be none before one that led is taken for lost; 0: however long.
	Silence time.Duration
}

// While calls lost some time after another daemon than the leader has begun to lead, or when there
// was none for too long, until stop.
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
