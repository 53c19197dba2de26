package upgrade

import (
	"context"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"

	"connectrpc.com/connect"
)

// notYet is the refusal of what the log's protocol cannot express yet.
const notYet = "this needs protocol 2, and the log is written in protocol 1 until all servers understand it"

// spec is a job of a rank on each of some nodes, named as for scrun -w.
func (s *scene) spec(nodes string, argv ...string) *scorev1.JobSpec {
	list := strings.Split(nodes, ",")
	return &scorev1.JobSpec{
		Name: "passes", Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, WorkDir: s.Dir, Detached: true, StdoutPattern: os.DevNull,
		Tasks: uint32(len(list)), Nodes: uint32(len(list)), NodeList: list,
	}
}

// start submits a job under a key.
func (s *scene) start(spec *scorev1.JobSpec) (id uint64) {
	s.T.Helper()
	id, err := s.Submit(s.Ctx, spec)
	s.Check(err)
	return id
}

// awaitJob waits until a job is as wanted.
func (s *scene) awaitJob(id uint64, what string, is func(*scorev1.Job) bool) {
	s.T.Helper()
	daemonstest.AwaitJob(s.T, s.Cluster, id, what, is)
}

// passes submits jobs that end by themselves and by their user's wish, whatever the versions of the
// daemons are.
func (s *scene) passes(nodes string) {
	s.T.Helper()
	ends := s.start(s.spec(nodes, "/bin/true"))
	s.awaitJob(ends, "has ended", func(j *scorev1.Job) bool {
		return j.GetVerdict().GetReason() == scorev1.EndReason_END_REASON_EXITED && j.GetVerdict().GetExitCode() == 0
	})
	s.cancel(s.sleeps(nodes))
}

// sleeps returns a job that runs until it is cancelled.
func (s *scene) sleeps(nodes string) (id uint64) {
	s.T.Helper()
	id = s.start(s.spec(nodes, "/bin/sleep", "1000"))
	s.awaitJob(id, "runs", daemonstest.Running)
	return id
}

func (s *scene) cancel(id uint64) {
	s.T.Helper()
	s.Cancel(id)
	s.awaitJob(id, "has been cancelled", func(j *scorev1.Job) bool {
		return j.GetVerdict().GetReason() == scorev1.EndReason_END_REASON_CANCELLED
	})
}

// requeue has a job started again.
func (s *scene) requeue(id uint64) error {
	_, err := s.Jobs.RequeueJob(s.Ctx, connect.NewRequest(&scorev1.RequeueJobRequest{JobId: id}))
	return err
}

// recovers submits a job that goes on without what it loses.
func (s *scene) recovers(nodes string) error {
	spec := s.spec(nodes, "/bin/true")
	spec.Recover = true
	_, err := s.Submit(s.Ctx, spec)
	return err
}

// bytes submits a job with an argument that is not UTF-8, and waits until it has ended as wanted.
func (s *scene) bytes(nodes string, ended func(*scorev1.Verdict) bool) error {
	id, err := s.Submit(s.Ctx, s.spec(nodes, "/bin/sh", "-c", `[ "$0" = "$(printf '\377')" ]`, "\xff"))
	if err != nil {
		return err
	}
	s.awaitJob(id, "has ended as wanted", func(j *scorev1.Job) bool { return j.GetVerdict() != nil && ended(j.GetVerdict()) })
	return nil
}

// carried is the end of a job whose argument came as it was.
func carried(v *scorev1.Verdict) bool {
	return v.GetReason() == scorev1.EndReason_END_REASON_EXITED && v.GetExitCode() == 0
}

// beforeAll does what can be done while a server is of the earlier version, and is refused what
// cannot.
func (s *scene) beforeAll(nodes string) {
	s.T.Helper()
	if got := s.protocol(); got != 1 {
		s.T.Errorf("the log is written in protocol %d", got)
	}
	s.passes(nodes)
	id := s.sleeps(nodes)
	for what, err := range map[string]error{"history": s.lengthen(), "requeue": s.requeue(id), "recover": s.recovers(nodes), "bytes": s.bytes(nodes, nil)} {
		if err == nil || !strings.Contains(err.Error(), notYet) {
			s.T.Errorf("%s: %v", what, err)
		}
	}
	s.cancel(id)
}

// afterAll does what all servers understand.
func (s *scene) afterAll(nodes string) {
	s.T.Helper()
	s.passes(nodes)
	id := s.sleeps(nodes)
	for what, err := range map[string]error{"history": s.lengthen(), "requeue": s.requeue(id), "recover": s.recovers(nodes)} {
		if err != nil {
			s.T.Errorf("%s: %v", what, err)
		}
	}
	s.awaitJob(id, "runs again", func(j *scorev1.Job) bool { return daemonstest.Running(j) && j.GetRestarts() == 1 })
	s.cancel(id)
}

// connected waits until all agents have found the server that leads.
func (s *scene) connected() {
	s.T.Helper()
	for _, agent := range s.Agents {
		s.Await("agent "+agent.Name+" is connected", func() bool {
			connected, err := agent.Metric("score_agent_connected")
			return err == nil && connected == 1
		})
	}
	s.Check(s.AwaitUp(s.Ctx))
}

// quiet waits until no agent holds a job: an agent that ended would leave it to the next one.
func (s *scene) quiet(ctx context.Context) {
	s.T.Helper()
	for _, agent := range s.Agents {
		s.Check(daemons.Await(ctx, "agent "+agent.Name+" has no job", func() bool {
			jobs, err := agent.Metric("score_agent_jobs")
			return err == nil && jobs == 0
		}))
	}
}

// attach runs a program under scrun, which stays attached, until over is called; it shall leave
// with its exit code.
func (s *scene) attach() (over func()) {
	s.T.Helper()
	stop := filepath.Join(s.Dir, "stop")
	attached := daemonstest.Begin(s.T, s.Cluster, s.Servers[0].Socket, "scrun", "-N", "2", "-n", "2",
		"/bin/sh", "-c", "until test -e "+stop+"; do sleep 0.05; done; exit 7")
	return func() {
		s.T.Helper()
		s.Check(os.WriteFile(stop, nil, 0o644))
		attached.Ends(7)
	}
}
