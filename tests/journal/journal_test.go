package journal

import (
	"fmt"
	"sync"
	"testing"
)

// Text of one write is kept whole, and a reader finds it.
func TestJournal(t *testing.T) {
	const speakers, times = 4, 100
	var j Journal
	if j.String() != "" || j.Has("1") || !j.Has("") {
		t.Errorf("in the beginning it says %q", &j)
	}
	var said sync.WaitGroup
	for speaker := range speakers {
		said.Go(func() {
			for time := range times {
				line := fmt.Sprintf("%d says %d\n", speaker, time)
				if n, err := j.Write([]byte(line)); n != len(line) || err != nil || !j.Has(line) {
					t.Errorf("%q is not there: %d, %v", line, n, err)
				}
			}
		})
	}
	said.Wait()
	length := 0
	for speaker := range speakers {
		for time := range times {
			line := fmt.Sprintf("%d says %d\n", speaker, time)
			length += len(line)
			if !j.Has(line) {
				t.Errorf("%q is not there", line)
			}
		}
	}
	if len(j.String()) != length {
		t.Errorf("it says %q", &j)
	}
}
