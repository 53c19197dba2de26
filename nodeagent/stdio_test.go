package nodeagent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"score/nodeagent/leadertest"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
)

// stdio is a reader as a server is one: it confirms what it has.
type stdio struct {
	*connect.BidiStreamForClient[agentpb.StdioUp, agentpb.StdioDown]
	peer agentpbconnect.PeerServiceClient
	ctx  context.Context
	has  uint64 // the number of the last output that came
}

func (s *stdio) Receive() (*agentpb.StdioDown, error) {
	m, err := s.BidiStreamForClient.Receive()
	if mark := m.GetOutput().GetMark(); mark.GetSequence() > 0 {
		s.has = mark.GetSequence()
		_, _ = s.peer.ConfirmOutput(s.ctx, connect.NewRequest(mark)) // the next read tells of an agent that is gone
	}
	return m, err
}

// attach opens a job's output, as a server does.
func attach(t testing.TB, n *node, s *leadertest.Session, job uint64) *stdio {
	t.Helper()
	return attachFrom(t, n, s, job, 0)
}

// attachFrom is for who has the output up to a number.
func attachFrom(t testing.TB, n *node, s *leadertest.Session, job, has uint64) *stdio {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	peer := n.peer(s)
	stream := peer.Stdio(ctx)
	t.Cleanup(func() {
		cancel()
		stream.CloseRequest()
		stream.CloseResponse()
	})
	if err := stream.Send(&agentpb.StdioUp{Message: &agentpb.StdioUp_Open{Open: &agentpb.StdioOpen{JobId: job, Sequence: has}}}); err != nil {
		t.Fatal(err)
	}
	return &stdio{stream, peer, ctx, has}
}

func input(data string, eof bool) *agentpb.StdioUp {
	return &agentpb.StdioUp{Message: &agentpb.StdioUp_Stdin{Stdin: &scorev1.Stdin{Data: []byte(data), Eof: eof}}}
}

// drain reads all output of stdout until it is drained.
func drain(t testing.TB, stream *stdio) string {
	t.Helper()
	var out bytes.Buffer
	for {
		m, err := stream.Receive()
		if err != nil {
			t.Fatalf("after %q: %v", out.String(), err)
		}
		if m.GetDrained() {
			return out.String()
		}
		if m.GetOutput().GetStream() == 1 {
			out.Write(m.GetOutput().GetData())
		}
	}
}

func TestInputAndOutput(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		early := attach(t, n, s, 1) // before the job has come
		mustRun(t, s, n.order(1, "sh", "-c", "cat; echo end"))
		for _, part := range []*agentpb.StdioUp{input("hello ", false), input("world\n", false), input("", true)} {
			if err := early.Send(part); err != nil {
				t.Fatal(err)
			}
		}
		if got := drain(t, early); got != "hello world\nend\n" {
			t.Errorf("output %q", got)
		}
		if _, err := early.Receive(); err == nil || connect.CodeOf(err) != connect.CodeUnknown && !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
		done(t, s, 1)
		s.Send(forgetMessage(1))
	})
}

func TestOutputIsReadAfterTheEnd(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	mustPrepare(t, s, n.order(1, "echo", "late"))
	clocked(t, s)
	s.Send(planMessage(1, 1, time.Second, []uint64{1}))
	done(t, s, 1)
	s.Send(forgetMessage(1)) // nobody has read yet
	if got := drain(t, attach(t, n, s, 1)); got != "late\n" {
		t.Errorf("output %q", got)
	}
}

func TestReaderThatDoesNotReadMakesRanksWait(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	mustPrepare(t, s, n.order(1, "sh", "-c", "head -c 64000000 /dev/zero; echo"))
	stream := attach(t, n, s, 1)
	s.Send(planMessage(1, 1, time.Second, []uint64{1}))
	l := launched(t, s, 1)
	// It cannot end before its output has been taken.
	select {
	case <-time.After(300 * time.Millisecond):
	case <-s.Gone():
	}
	if unix.Kill(int(l.GetPids()[0]), 0) != nil {
		t.Error("the rank has ended, though nobody reads")
	}
	if got := len(drain(t, stream)); got != 64000001 {
		t.Errorf("%d bytes", got)
	}
	done(t, s, 1)
}

func TestOutputOfALostSteward(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		mustPrepare(t, s, n.order(1, "sleep", "1000"))
		stream := attach(t, n, s, 1)
		s.Send(planMessage(1, 1, time.Second, []uint64{1}))
		l := launched(t, s, 1)
		if err := unix.Kill(parentOf(t, int(l.GetPids()[0])), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		done(t, s, 1)
		for _, reader := range []*stdio{stream, attach(t, n, s, 1)} { // who comes later waits for nothing either
			for {
				m, err := reader.Receive()
				if connect.CodeOf(err) == connect.CodeDataLoss {
					break
				}
				if err != nil || m.GetDrained() {
					t.Fatalf("%v, %v: it is not told that output may be missing", m, err)
				}
			}
		}
	})
}

func TestStdioOfAnUnknownJob(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	for job, code := range map[uint64]connect.Code{0: connect.CodeInvalidArgument} {
		_, err := attach(t, n, s, job).Receive()
		if connect.CodeOf(err) != code {
			t.Errorf("job %d: %v", job, err)
		}
	}
}

func TestWrongKeyIsKeptOut(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	for _, key := range []string{"", "wrong", testKey + " "} {
		stream := leader.Calls(t, key, s.Hello.GetAddress()).Stdio(t.Context())
		stream.Send(&agentpb.StdioUp{Message: &agentpb.StdioUp_Open{Open: &agentpb.StdioOpen{JobId: 1}}})
		if _, err := stream.Receive(); connect.IsWireError(err) || pki.FaultOf(err) != pki.FaultForeign {
			t.Errorf("key %q: Stdio gave %v", key, err)
		}
	}
	if _, err := n.peer(s).Collect(t.Context(), connect.NewRequest(&agentpb.CollectRequest{JobId: 1})); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("a server calls what is for agents: %v", err)
	}
	_, err := n.asAgent(s, "n2").Collect(t.Context(), connect.NewRequest(&agentpb.CollectRequest{JobId: 1}))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "job 1 has no part on node n1") {
		t.Errorf("right key: %v", err)
	}
}
