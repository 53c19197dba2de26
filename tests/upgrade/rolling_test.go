//go:build soak

package upgrade

import (
	"context"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// TestRollingUpgrade replaces three servers and two agents, one after the other, while a program
// runs: it goes on, and what is new can be used when all servers are. Then nobody goes back.
func TestRollingUpgrade(t *testing.T) {
	earlier, later := version(t, "earlier", 1, 1), version(t, "later", 1, 2)
	s := newScene(t, daemons.Options{ServerBin: earlier, AgentBin: earlier, Nodes: 2, Servers: 3})
	id := s.beats()
	attached := s.attach()
	s.goesOn()
	for i, server := range s.Servers {
		if got := s.protocol(); got != 1 {
			t.Fatalf("with %d servers replaced the log is written in protocol %d", i, got)
		}
		s.beforeAll("n1,n2")
		s.replace(server, later)
		s.Await(server.Name+" is of the later version", func() bool { return s.versions()[server.Name] == "later" })
		s.goesOn()
	}
	s.Await("the log is written in protocol 2", func() bool { return s.protocol() == 2 })
	for _, agent := range s.Agents {
		s.connected() // agents of both versions are taken
		s.passes("n1,n2")
		s.replace(agent, later)
		s.Await(agent.Name+" is of the later version", func() bool {
			text, err := s.Command(t.Context(), s.Servers[0].Socket, "node", "show", agent.Name)
			return err == nil && strings.Contains(text, "later") && strings.Contains(text, "up")
		})
		s.goesOn()
	}
	s.afterAll("n1,n2")
	s.Check(s.bytes("n1,n2", carried))
	attached()
	reply, err := s.Jobs.GetJob(t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
	if err != nil || reply.Msg.GetJob().GetState() != scorev1.JobState_JOB_STATE_RUNNING || reply.Msg.GetJob().GetRestarts() != 0 {
		t.Errorf("the job: %v, %v", reply, err)
	}
	s.goesNotBack(earlier)
}

// beats starts a job of a rank on each node that writes all the time until it is cancelled, at the
// end of the test at the latest.
func (s *scene) beats() (id uint64) {
	s.T.Helper()
	id = s.start(s.spec("n1,n2", "/bin/sh", "-c", "while :; do echo >>beats.$SCORE_RANK; sleep 0.02; done"))
	s.T.Cleanup(func() {
		ctx := context.WithoutCancel(s.Ctx)
		_, _ = s.Jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id})) // the job tells whether it took effect
		err := daemons.Await(ctx, "the job has ended", func() bool {
			reply, err := s.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
			return err == nil && reply.Msg.GetJob().GetState() == scorev1.JobState_JOB_STATE_DONE
		})
		if err != nil {
			s.T.Error(err)
		}
		s.quiet(ctx)
	})
	return id
}

// goesOn waits until both ranks of beats have written more.
func (s *scene) goesOn() {
	s.T.Helper()
	for rank := range 2 {
		file := filepath.Join(s.Dir, "beats."+strconv.Itoa(rank))
		size := sizeOf(file)
		s.Await("rank goes on", func() bool { return sizeOf(file) > size })
	}
}

// sizeOf returns the size of a file; 0: there is none yet.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// goesNotBack tries what a downgrade would.
func (s *scene) goesNotBack(earlier string) {
	s.T.Helper()
	server := s.Servers[2]
	s.replace(server, earlier)
	select {
	case <-server.Ended():
	case <-time.After(daemons.Patience):
		s.T.Fatal("a server goes on with a log that it does not understand")
	}
	s.Await("the server says why", func() bool {
		return s.said.Has("the cluster's log is written in protocol 2, and this program understands up to 1; start the version again that ran here last")
	})
	server.Bin = ""
	s.Check(server.Start())
	s.Await("the server is back", func() bool { return s.versions()[server.Name] == "dev" })
}
