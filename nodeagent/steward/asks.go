package steward

import (
	"fmt"
	"score/nodeagent/launch"
	"score/nodeagent/pmi"
	"score/nodeagent/steward/stewardpb"
	"time"

	"google.golang.org/protobuf/proto"
)

const (
	// asksPerSecond is how many requests of a job's ranks go to the leader in a second, those of
	// all its nodes together. Each costs agent and server some tens of microseconds, and orders for
	// other jobs of the node wait behind the answers.
	asksPerSecond = 500
	// asksAtOnce go at once after a silence, and one more for each rank on the node: what programs
	// ask when they start or connect does not wait.
	asksAtOnce = 256
	// askBytes of a request count as another one.
	askBytes = 4 << 10
	// askTurn is the least pause when requests wait: many that go together cost the daemons less
	// than as many that come one by one.
	askTurn = 60 * time.Millisecond
)

// asks are a job's requests to the leader that have not been sent: more than it may send now.
type asks struct {
	waiting []request
	left    float64   // requests that may be sent now; below 0 after a long one
	at      time.Time // of left
	next    time.Time // when the first of waiting may be sent, after a turn of askTurn; zero: none waits
}

// take returns the requests that may be sent now by a node with so many ranks of a job on so many
// nodes.
func (a *asks) take(now time.Time, ranks, nodes int) []request {
	if now.Before(a.next) {
		return nil
	}
	rate := float64(asksPerSecond) / float64(nodes)
	a.left = min(a.left+now.Sub(a.at).Seconds()*rate, float64(asksAtOnce+ranks))
	a.at, a.next = now, time.Time{}
	n := 0
	for ; n < len(a.waiting) && a.left >= 1; n++ {
		a.left -= 1 + float64(proto.Size(a.waiting[n].message)/askBytes)
	}
	taken := a.waiting[:n:n]
	if a.waiting = a.waiting[n:]; len(a.waiting) > 0 {
		a.next = now.Add(max(time.Duration((1-a.left)/rate*float64(time.Second))+time.Microsecond, askTurn))
	}
	return taken
}

// askLeader asks the leader for ranks, when it is the request's turn.
func (s *steward) askLeader(r request, message *stewardpb.FromSteward) {
	a := &s.outbox.asks
	if len(a.waiting) == pmi.MaxAsked { // with requests of ranks that have ended
		s.abort(-1, launch.CodeCluster, fmt.Sprintf(
			"node %s: %d requests of the job's ranks about names and new processes wait", s.job.node, pmi.MaxAsked))
		return
	}
	r.message = message
	a.waiting = append(a.waiting, r)
	s.sendAsks()
}

// sendAsks sends the requests whose turn it is.
func (s *steward) sendAsks() {
	for _, r := range s.outbox.asks.take(s.now(), len(s.job.ranks), s.job.nodes) {
		s.ask(r, r.message)
	}
}

func (s *steward) tickAsks() {
	if at := s.outbox.asks.next; s.job != nil && !at.IsZero() && !s.now().Before(at) {
		s.sendAsks()
	}
}
