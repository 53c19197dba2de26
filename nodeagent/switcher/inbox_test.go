package switcher

import (
	"score/ctxswitch"
	"sync"
	"testing"
)

func TestInboxKeepsOrder(t *testing.T) {
	var b inbox
	if b.take() != nil || !b.empty() {
		t.Fatal("not empty")
	}
	for i := range 5 {
		first, ok := b.put(&command{event: ctxswitch.JobLaunched(ctxswitch.JobID(i))})
		if !ok || first != (i == 0) {
			t.Errorf("letter %d: first %v, ok %v", i, first, ok)
		}
	}
	i := ctxswitch.JobID(0)
	for l := b.take(); l != nil; l = l.next {
		if l.event.Job != i {
			t.Errorf("letter of %d, want %d", l.event.Job, i)
		}
		i++
	}
	if i != 5 {
		t.Errorf("%d letters", i)
	}
	if l := b.close(); l != nil {
		t.Error("closing found a letter")
	}
	if _, ok := b.put(&command{}); ok {
		t.Error("put into a closed inbox")
	}
}

func TestInboxOfManyWriters(t *testing.T) {
	var b inbox
	const writers, each = 8, 500
	var wrote sync.WaitGroup
	for w := range writers {
		wrote.Go(func() {
			for i := range each {
				b.put(&command{event: ctxswitch.Event{Job: ctxswitch.JobID(w), Seq: uint64(i)}})
			}
		})
	}
	done := make(chan struct{})
	go func() { wrote.Wait(); close(done) }()
	var last [writers]uint64
	read := 0
	for ended := false; ; {
		for l := b.take(); l != nil; l = l.next {
			w := l.event.Job
			if read++; l.event.Seq != last[w] {
				t.Fatalf("letter %d of writer %d, want %d", l.event.Seq, w, last[w])
			}
			last[w]++
		}
		if ended {
			break
		}
		select {
		case <-done:
			ended = true
		default:
		}
	}
	if read != writers*each {
		t.Errorf("%d letters read", read)
	}
}
