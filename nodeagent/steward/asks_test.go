package steward

import (
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"strings"
	"testing"
	"time"
)

// However much a job asks, the leader gets no more than a burst and the pace; all come in order.
func TestAsksArePaced(t *testing.T) {
	const ranks, nodes, seconds, every = 4, 2, 10, time.Millisecond
	begin := time.Unix(1, 0)
	for name, test := range map[string]struct{ bytes, most int }{
		"short": {10, asksAtOnce + ranks + seconds*asksPerSecond/nodes},
		"long":  {9 * askBytes, (asksAtOnce+ranks+seconds*asksPerSecond/nodes)/10 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			var a asks
			var put, got uint64
			message := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Name{
				Name: &agentpb.NameRequest{Service: strings.Repeat("s", test.bytes)},
			}}
			for now := begin; now.Before(begin.Add(seconds * time.Second)); now = now.Add(every) {
				for range 10 {
					put++
					a.waiting = append(a.waiting, request{number: put, message: message})
				}
				for _, r := range a.take(now, ranks, nodes) {
					if got++; r.number != got {
						t.Fatalf("request %d comes after %d", r.number, got-1)
					}
				}
				if (len(a.waiting) > 0) != a.next.After(now) {
					t.Fatalf("%d requests wait at %v until %v", len(a.waiting), now, a.next)
				}
			}
			if got > uint64(test.most) || got < uint64(test.most)*9/10 {
				t.Errorf("%d requests were sent, the most is %d", got, test.most)
			}
			at := a.next
			a.waiting = a.waiting[:1]
			if n := len(a.take(at, ranks, nodes)); n != 1 || !a.next.IsZero() {
				t.Errorf("%d requests at their time, the next at %v", n, a.next)
			}
		})
	}
}
