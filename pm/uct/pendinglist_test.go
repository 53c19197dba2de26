package uct

import "testing"

type pendingNumber int

func (pendingNumber) Retry() error { return nil }

// TestPendingList: operations leave the list in their order, however many come and go at a time, and
// their memory is used again.
func TestPendingList(t *testing.T) {
	var l pendingList
	in, out := 0, 0
	for round := range 1000 {
		for range round % 17 {
			l.push(pendingNumber(in))
			in++
		}
		n := min(round%19, l.len())
		for k := range n {
			if got := l.at(k); got != pendingNumber(out+k) {
				t.Fatalf("%v is number %d", got, out+k)
			}
		}
		l.remove(n)
		out += n
		if l.len() != in-out {
			t.Fatalf("%d wait, want %d", l.len(), in-out)
		}
	}
	l.remove(l.len())
	if cap(l.ops) > in/2 {
		t.Errorf("the list grew to %d for %d", cap(l.ops), in)
	}
}
