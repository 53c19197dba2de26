package upgrade

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/daemons"
)

// notYet is what is said of what the log cannot say yet.
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
	s.t.Helper()
	id, err := s.Submit(s.t.Context(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// awaitJob waits until a job is as wanted.
func (s *scene) awaitJob(id uint64, what string, is func(*scorev1.Job) bool) {
	s.t.Helper()
	s.await("job "+strconv.FormatUint(id, 10)+" "+what, func() bool {
		reply, err := s.Jobs.GetJob(s.t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		return err == nil && is(reply.Msg.GetJob())
	})
}

func runs(j *scorev1.Job) bool {
	return j.GetState() == scorev1.JobState_JOB_STATE_RUNNING && j.GetStartedNanos() != 0
}

// passes submits jobs that end by themselves and by their user's wish, whatever the versions of the daemons are.
func (s *scene) passes(nodes string) {
	s.t.Helper()
	ends := s.start(s.spec(nodes, "/bin/true"))
	s.awaitJob(ends, "has ended", func(j *scorev1.Job) bool {
		return j.GetVerdict().GetReason() == scorev1.EndReason_END_REASON_EXITED && j.GetVerdict().GetExitCode() == 0
	})
	s.cancel(s.sleeps(nodes))
}

// sleeps gives a job that runs until it is cancelled.
func (s *scene) sleeps(nodes string) (id uint64) {
	s.t.Helper()
	id = s.start(s.spec(nodes, "/bin/sleep", "1000"))
	s.awaitJob(id, "runs", runs)
	return id
}

func (s *scene) cancel(id uint64) {
	s.t.Helper()
	if _, err := s.Jobs.CancelJob(s.t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: id})); err != nil {
		s.t.Error(err)
	}
	s.awaitJob(id, "has been cancelled", func(j *scorev1.Job) bool {
		return j.GetVerdict().GetReason() == scorev1.EndReason_END_REASON_CANCELLED
	})
}

// requeue has a job begun anew.
func (s *scene) requeue(id uint64) error {
	_, err := s.Jobs.RequeueJob(s.t.Context(), connect.NewRequest(&scorev1.RequeueJobRequest{JobId: id}))
	return err
}

// recovers submits a job that goes on without what it loses.
func (s *scene) recovers(nodes string) error {
	spec := s.spec(nodes, "/bin/true")
	spec.Recover = true
	_, err := s.Submit(s.t.Context(), spec)
	return err
}

// beforeAll does what can be done while a server is of the earlier version, and is refused what cannot.
func (s *scene) beforeAll(nodes string) {
	s.t.Helper()
	if got := s.protocol(); got != 1 {
		s.t.Errorf("the log is written in protocol %d", got)
	}
	s.passes(nodes)
	id := s.sleeps(nodes)
	for what, err := range map[string]error{"history": s.lengthen(), "requeue": s.requeue(id), "recover": s.recovers(nodes)} {
		if err == nil || !strings.Contains(err.Error(), notYet) {
			s.t.Errorf("%s: %v", what, err)
		}
	}
	s.cancel(id)
}

// afterAll does what all servers understand.
func (s *scene) afterAll(nodes string) {
	s.t.Helper()
	s.passes(nodes)
	id := s.sleeps(nodes)
	for what, err := range map[string]error{"history": s.lengthen(), "requeue": s.requeue(id), "recover": s.recovers(nodes)} {
		if err != nil {
			s.t.Errorf("%s: %v", what, err)
		}
	}
	s.awaitJob(id, "runs anew", func(j *scorev1.Job) bool { return runs(j) && j.GetRestarts() == 1 })
	s.cancel(id)
}

// connected waits until all agents have found the server that leads.
func (s *scene) connected() {
	s.t.Helper()
	for _, agent := range s.Agents {
		s.await("agent "+agent.Name+" is connected", func() bool {
			connected, err := agent.Metric("score_agent_connected")
			return err == nil && connected == 1
		})
	}
	if err := s.AwaitUp(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// quiet waits until no agent holds a job: one that is ended would leave it to the next.
func (s *scene) quiet() {
	s.t.Helper()
	for _, agent := range s.Agents {
		s.await("agent "+agent.Name+" has no job", func() bool {
			jobs, err := agent.Metric("score_agent_jobs")
			return err == nil && jobs == 0
		})
	}
}

// attach runs a program under scrun, which stays attached, until over is called; it shall leave with its exit code.
func (s *scene) attach() (over func()) {
	s.t.Helper()
	stop := filepath.Join(s.Dir, "stop")
	const code = 7
	command := exec.Command(filepath.Join(bin, "scrun"), "-N", "2", "-n", "2", "/bin/sh", "-c", "until test -e "+stop+"; do sleep 0.05; done; exit "+strconv.Itoa(code))
	command.Dir = s.Dir
	command.Env = append(os.Environ(), client.SocketVariable+"="+s.Servers[0].Socket, daemons.Mark+"="+s.Dir)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // its state says how
	}()
	s.t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		<-ended
	})
	return func() {
		s.t.Helper()
		if err := os.WriteFile(stop, nil, 0o644); err != nil {
			s.t.Fatal(err)
		}
		s.await("scrun ends", func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		})
		if got := command.ProcessState.ExitCode(); got != code {
			s.t.Errorf("scrun left with exit code %d:\n%s", got, said.String())
		}
	}
}
