package uplink

import (
	"context"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
)

const (
	// uneasyAfter is how long a server may be silent before the others are asked for another
	// leader: a ping that was not answered within half a second. To ask too early costs nothing,
	// since the stream goes on.
	uneasyAfter = 2 * pingEvery
	// seekTimeout bounds one question. A server waits 3 s for an election; the rest is for the
	// network.
	seekTimeout = 4 * time.Second
	// seekPause is the pause between rounds of questions that failed at once because no server was
	// there.
	seekPause = 200 * time.Millisecond
)

// seeker asks the other servers for a later leader while the present one is silent, so that an
// agent need not wait until the leader's silence is too long. The answers are hints: the term in
// the Welcome decides whom the agent obeys.
type seeker struct {
	link     *Link
	from     string      // the URL of the server that may be silent
	welcomed atomic.Bool // by that server
	found    func()
}

// run asks until ctx ends or a leader is found. The next attempt goes to that leader.
func (s *seeker) run(ctx context.Context) {
	for ctx.Err() == nil {
		silent := time.Duration(s.link.options.Now() - s.link.lastHeard.Load())
		if silent < uneasyAfter {
			sleep(ctx, uneasyAfter-silent)
			continue
		}
		if address := s.ask(ctx); address != "" {
			s.link.servers.redirect(address)
			s.found()
			return
		}
		sleep(ctx, seekPause)
	}
}

// ask asks all other servers at once, and returns the first answer, the leader's address, or "" if
// none knows a leader.
func (s *seeker) ask(ctx context.Context) (address string) {
	ctx, cancel := context.WithTimeout(ctx, seekTimeout)
	defer cancel()
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, url := range s.link.servers.list() {
		if url == s.from {
			continue
		}
		asking.Go(func() {
			found := s.askOne(ctx, url)
			mu.Lock()
			defer mu.Unlock()
			if address == "" && found != "" {
				address = found
				cancel()
			}
		})
	}
	asking.Wait()
	return address
}

func (s *seeker) askOne(ctx context.Context, url string) (address string) {
	// Before the welcome, the last known leader is also a valid answer, if it is another server
	// than this one.
	after := s.link.term.Load()
	if after > 0 && !s.welcomed.Load() {
		after--
	}
	client := agentpbconnect.NewAgentServiceClient(s.link.options.Client, url, s.link.options.ClientOptions...)
	reply, err := client.FindLeader(ctx, connect.NewRequest(&agentpb.FindLeaderRequest{AfterTerm: after}))
	if err != nil || reply.Msg.GetTerm() <= after || s.link.servers.url(reply.Msg.GetAddress()) == s.from {
		return ""
	}
	return reply.Msg.GetAddress()
}
