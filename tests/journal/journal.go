// Package journal collects the output of programs under test; it can be read while they run.
package journal

import (
	"bytes"
	"strings"
	"sync"
)

// Journal is an io.Writer whose content can be read at any time. Its zero value is empty.
type Journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *Journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(text)
}

// String returns all text so far.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Has reports whether the journal contains a text.
func (j *Journal) Has(text string) bool { return strings.Contains(j.String(), text) }
