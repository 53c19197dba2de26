package messages

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
)

// output is what a rank printed.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and made again whenever something comes
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

// errRank means that a rank failed; it has said why itself.
var errRank = errors.New("a rank failed")

// await waits until the rank has printed the line, or has failed.
func (o *output) await(ctx context.Context, line string) error {
	for {
		o.mu.Lock()
		text, more := "\n"+o.text.String(), o.more
		o.mu.Unlock()
		switch {
		case strings.Contains(text, "\n"+line+"\n"):
			return nil
		case strings.Contains(text, "\n"+saidFailed+"\n"):
			return errRank
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}
