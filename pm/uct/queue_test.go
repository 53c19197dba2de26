package uct

import "testing"

// TestQueue: what comes leaves in its order, however much comes and goes at a time, and the memory
// is used again.
func TestQueue(t *testing.T) {
	var q queue[int]
	in, out := 0, 0
	for round := range 1000 {
		for range round % 17 {
			q.push(in)
			in++
		}
		n := min(round%19, q.len())
		for k := range n {
			if got := q.at(k); got != out+k {
				t.Fatalf("%v is number %d", got, out+k)
			}
		}
		q.remove(n)
		out += n
		if q.len() != in-out {
			t.Fatalf("%d wait, want %d", q.len(), in-out)
		}
	}
	q.remove(q.len())
	if cap(q.all) > in/2 {
		t.Errorf("the queue grew to %d for %d", cap(q.all), in)
	}
}
