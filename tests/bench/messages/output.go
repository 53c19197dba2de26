package messages

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// output is what a rank printed.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and made anew whenever something comes
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

// String is everything up to now.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the rank has printed the line.
func (o *output) await(ctx context.Context, line string) error {
	for {
		o.mu.Lock()
		said, more := strings.Contains("\n"+o.text.String(), "\n"+line+"\n"), o.more
		o.mu.Unlock()
		if said {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}
