package steward_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"score/nodeagent/steward/direct"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/tests/socketdir"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
)

// exchanging is a rank that fences so often, and gets another's key of each fence, with padding in
// its value; that is packed, so it must look random to be large.
func exchanging(fences int, padding string) string {
	return "pad=" + padding + "\n" + fmt.Sprintf(`for ((i = 0; i < %d; i++)); do
say "cmd=put kvsname=score_7 key=k$i.$PMI_RANK value=v$i.$PMI_RANK$pad"
say "cmd=barrier_in"
say "cmd=get kvsname=score_7 key=k$i.$((1 - PMI_RANK))"
[ "$a" = "cmd=get_result rc=0 msg=success value=v$i.$((1 - PMI_RANK))$pad" ] || { echo "fence $i: $a"; exit 9; }
done; say "cmd=finalize"`, fences)
}

// The stewards exchange by themselves: by their agents until they know that datagrams arrive, then
// without.
func TestFencesByMessage(t *testing.T) {
	needBash(t)
	const fences = 100
	for name, c := range map[string]struct {
		change      change
		minMessages int // of messages that the agents carry
		maxMessages int // repetitions on a busy machine included
	}{
		"datagrams": {withKey, 1, fences},
		"no key":    {func(*stewardpb.PrepareJob) {}, 2 * fences, 3 * fences},
		"no number": {func(p *stewardpb.PrepareJob) { withKey(p); p.Job.Places[p.Job.NodeIndex].Address = "localhost:1" }, 2 * fences, 3 * fences},
	} {
		t.Run(name, func(t *testing.T) {
			p := startRelayPair(t, exchanging(fences, ""), c.change)
			p.end()
			if p.messages < c.minMessages || p.messages > c.maxMessages {
				t.Errorf("the agents carried %d messages for %d fences; it should be %d to %d", p.messages, fences, c.minMessages, c.maxMessages)
			}
			for i, a := range p.agents {
				if has(a, (*stewardpb.FromSteward).GetCollective) {
					t.Errorf("node %d asked its agent for an exchange", i)
				}
				if n := last(a, (*stewardpb.FromSteward).GetFences); n.GetFences() != fences || n.GetPlainBytes() == 0 {
					t.Errorf("node %d counted %v", i, n)
				}
			}
		})
	}
}

// Data that is not small goes by the agents' exchange, which has numbers of its own; the fences
// between do not.
func TestLargeFencesAreTheAgents(t *testing.T) {
	needBash(t)
	ring := withSpec(func(s *scorev1.JobSpec) { s.Exchange = scorev1.ExchangeMode_EXCHANGE_MODE_RING })
	p := startRelayPair(t, `say "cmd=barrier_in"`+"\n"+exchanging(2, fmt.Sprintf("%x", direct.JobKey("", "", 0, 0))), withKey, ring)
	for n := range uint64(2) {
		var data [2][]byte
		p.until("an exchange", func() bool {
			whole := 0
			for i, a := range p.agents {
				if c := last(a, (*stewardpb.FromSteward).GetCollective); c.GetSequence() == n+1 {
					data[i] = c.GetData()
					whole++
				}
			}
			return whole == 2
		})
		for _, a := range p.agents {
			result := &stewardpb.CollectiveResult{Sequence: n + 1, Data: data[:]}
			a.do(a.conn.Collective(result))
			a.do(a.conn.Collective(result)) // twice does no harm
		}
	}
	p.end()
}

// A fence goes on under another agent, who is given what the former one may have lost.
func TestAnotherAgentCarriesMessagesAgain(t *testing.T) {
	needBash(t)
	p := startRelayPair(t, exchanging(5, ""))
	p.holds = func(int, *stewardpb.Relay) bool { return true }
	p.until("a message", func() bool { return len(p.held) > 0 })
	a := p.agents[p.held[0].from]
	a.conn.Close()
	p.passed[p.held[0].from] = 0
	a.dial()
	p.holds = nil
	p.end()
}

// A node's part is not over before what it gave to fences has arrived: ranks elsewhere would wait
// for it for ever.
func TestTheEndWaitsForMessages(t *testing.T) {
	needBash(t)
	p := startRelayPair(t, `say "cmd=barrier_in"; say "cmd=finalize"`)
	fromFirst := func(from int, _ *stewardpb.Relay) bool { return from == 0 }
	p.holds = fromFirst
	exited := func() bool { return has(p.agents[0], (*stewardpb.FromSteward).GetRankExited) }
	p.until("the end of the rank that got all", exited)
	a := p.agents[0]
	a.do(a.conn.AskRankStates(1))
	p.until("an answer", func() bool { return has(a, (*stewardpb.FromSteward).GetRankStates) })
	// What it does not say cannot be waited for; its message is repeated meanwhile.
	p.until("a repetition", func() bool { return len(p.held) > 1 })
	if has(a, (*stewardpb.FromSteward).GetNodeDone) {
		t.Error("the part is over, and its message has not arrived")
	}
	p.holds = nil
	for _, h := range p.held {
		p.forward(h.from, h.relay)
	}
	p.end()
}

// Where the job is gone, nobody will come to the fence.
func TestMessageToNobody(t *testing.T) {
	needBash(t)
	p := startRelayPair(t, `say "cmd=barrier_in"; exit 1`)
	p.holds = func(int, *stewardpb.Relay) bool { return true }
	p.until("a message", func() bool { return len(p.held) > 0 })
	h := p.held[0]
	a, node := p.agents[h.from], fmt.Sprintf("n%d", 2-h.from)
	a.do(a.conn.RelayFailed(h.relay))
	if m := a.abort(); m.GetExitCode() != 125 || !strings.Contains(m.GetMessage(), "node "+node+" cannot be reached") {
		t.Errorf("abort: %v", m)
	}
	if lost := await(a, "the lost part", 0, (*stewardpb.FromSteward).GetPartLost); lost.GetNodeIndex() != uint32(1-h.from) || lost.GetReason() == "" {
		t.Errorf("lost: %v", lost)
	}
	a.exits()
}

// The agent knows that no fence can end any more: one that is under way ends the job, else the
// next.
func TestNoFenceCanEnd(t *testing.T) {
	needBash(t)
	for name, before := range map[string]bool{"under way": false, "the next": true} {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.ready(a.order(1, speaking(`say "cmd=barrier_in"; exit 1`), onNodeOfTwo(0)))
			over := &stewardpb.CollectiveResult{Error: "node n2 was lost"}
			if before {
				a.do(a.conn.Collective(over))
			}
			a.do(a.conn.Launch())
			if !before {
				await(a, "a message", 0, (*stewardpb.FromSteward).GetRelay)
				a.do(a.conn.Collective(over))
			}
			if m := a.abort(); m.GetMessage() != "node n2 was lost" || m.GetRank() != -1 {
				t.Errorf("abort: %v", m)
			}
			a.exits()
		})
	}
}

// Whatever comes to the port from elsewhere is dropped, and so is what is no step of a fence of
// this job.
func TestHostileMessages(t *testing.T) {
	needBash(t)
	p := startRelayPair(t, exchanging(50, ""), withKey)
	at, port := 0, uint32(0) // of the first that sends a message; the other one may need no agent
	p.until("a port", func() bool {
		for i, a := range p.agents {
			if n := last(a, (*stewardpb.FromSteward).GetRelay).GetHeader().GetPort(); n != 0 {
				at, port = i, n
			}
		}
		return port != 0
	})
	c, err := net.Dial("udp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stranger, err := direct.New(direct.JobKey("secret", "lab", testJob+1, 1), uint32(1-at), direct.Salt{1}, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		for _, datagram := range [][]byte{make([]byte, n), make([]byte, 300*n), stranger.Seal(nil, uint32(at), direct.Packet{Data: []byte("hello")})} {
			_, _ = c.Write(datagram) // it may have gone
		}
	}
	a := p.agents[at]
	for _, r := range []*stewardpb.Relay{
		{JobId: testJob, NodeIndex: 99, Header: &agentpb.MessageHeader{Port: 5}},
		{JobId: testJob, NodeIndex: uint32(1 - at), Header: &agentpb.MessageHeader{Port: 1 << 30}},
		{JobId: testJob + 1, NodeIndex: uint32(1 - at), Data: []byte("x"), Header: &agentpb.MessageHeader{Stream: 1, Number: 1, Collective: true, Port: 9}},
		{},
	} {
		a.do(a.conn.Relay(r))
	}
	p.end()
}

// A message that says it is a step of a fence and is none ends the job with a sentence.
func TestBrokenStep(t *testing.T) {
	needBash(t)
	lie, err := proto.Marshal(&agentpb.CollectRequest{Sequence: 1, Algorithm: 3, Step: 77})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{[]byte("nonsense"), lie} {
		a := start(t)
		a.run(1, speaking(`say "cmd=barrier_in"; exit 1`), onNodeOfTwo(0))
		await(a, "a message", 0, (*stewardpb.FromSteward).GetRelay)
		a.do(a.conn.Relay(&stewardpb.Relay{JobId: testJob, NodeIndex: 1, Data: data, Header: &agentpb.MessageHeader{Stream: 1, Number: 1, Collective: true}}))
		if m := a.abort(); m.GetExitCode() != 125 || !strings.HasPrefix(m.GetMessage(), "node n1: ") {
			t.Errorf("abort: %v", m)
		}
		a.exits()
	}
}

// Once stewards reach each other they need no agents: fences go on while both are away.
func TestFencesWithoutAgents(t *testing.T) {
	needBash(t)
	dir := socketdir.Make(t)
	for _, name := range []string{"met0", "met1", "go0", "go1", "over0", "over1"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// hears is closed once both ranks have said so.
	hears := func(what string) <-chan struct{} {
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			for rank := range 2 {
				name := filepath.Join(dir, fmt.Sprintf("%s%d", what, rank))
				if text, err := os.ReadFile(name); err != nil || len(text) == 0 {
					t.Errorf("%s: %q, %v", what, text, err)
				}
			}
		}()
		return heard
	}
	fences := `for ((i = 0; i < 20; i++)); do say "cmd=barrier_in"; done; echo done > `
	p := startRelayPair(t, fences+dir+`/met$PMI_RANK; read -r a < `+dir+`/go$PMI_RANK; `+fences+dir+`/over$PMI_RANK; say "cmd=finalize"`, withKey)
	p.untilClosed("the fences before", hears("met"))
	for i, a := range p.agents {
		a.conn.Close()
		p.passed[i] = 0
	}
	for i := range p.agents {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("go%d", i)), []byte("go\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-hears("over"):
	case <-time.After(timeout):
		t.Fatal("the fences do not go on without agents")
	}
	for _, a := range p.agents {
		a.dial()
	}
	p.end()
}
