package streams

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	startRounds = flag.Int("streams.rounds", 2, "how often daemons are lost while jobs start")
	startSeed   = flag.Uint64("streams.seed", 0, "seed of these losses; 0: a new one, which is logged")
)

const (
	// starts are jobs that begin one after the other, startStep apart, before daemons are lost: the
	// loss meets each step of a start, and of the first input.
	starts    = 12
	startStep = 15 * time.Millisecond
	// startSlice is short, so that the jobs have their first turns before the loss.
	startSlice = 10 * time.Millisecond
	// agentAway, serverAway and between are how long daemons are away, and how far apart servers
	// are lost, at most.
	agentAway, serverAway, between = 1500 * time.Millisecond, 300 * time.Millisecond, time.Second
	// unknownJob is the sentence about a job that was lost with its agent before it had begun.
	unknownJob = "does not know the job any more"
	// noServer is the sentence of a scrun that was too slow: its server was lost before it could
	// submit.
	noServer = "no daemon answers"
)

// startInputs are the most bytes of input: a pipe takes them, what is kept on the way, or neither.
var startInputs = []int{20_000, 400_000, 1_000_000}

// errWrong is wrapped by what is wrong with an output.
var errWrong = errors.New("the output is wrong")

// compressing is a job that compresses its input.
type compressing struct {
	command   *exec.Cmd
	input     []byte
	out, said bytes.Buffer
}

func (s *startScene) compressing(at *daemons.Daemon) *compressing {
	c := &compressing{input: make([]byte, s.random.IntN(startInputs[s.random.IntN(len(startInputs))]))}
	for i := range c.input {
		c.input[i] = byte(s.random.Uint32())
	}
	c.command = scrun(s.Cluster, at.Socket, 0, "-n", "1", "-s", "--mem", "8M", "sh", "-c", "exec gzip -1c")
	c.command.Stdin, c.command.Stdout, c.command.Stderr = bytes.NewReader(c.input), &c.out, &c.said
	return c
}

// run is an error unless all of the input came back.
func (c *compressing) run() error {
	if err := c.command.Start(); err != nil {
		return err
	}
	defer time.AfterFunc(echoed, func() { _ = c.command.Process.Kill() }).Stop()
	if err := c.command.Wait(); err != nil {
		said := c.said.String()
		if strings.Contains(said, unknownJob) || strings.Contains(said, noServer) && c.out.Len() == 0 {
			return nil
		}
		return fmt.Errorf("%w, %d bytes of output: %s", err, c.out.Len(), said)
	}
	r, err := gzip.NewReader(&c.out)
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(plain, c.input) {
		err = fmt.Errorf("%w: %d bytes came back of %d, or others", errWrong, len(plain), len(c.input))
	}
	return err
}

// startScene has three servers and an agent.
type startScene struct {
	*daemonstest.Scene
	random *rand.Rand
}

func (s *startScene) draw(limit time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(limit)))
}

// loseAgent ends the agent, or kills it, and starts it again some time later.
func (s *startScene) loseAgent() (wait func()) {
	agent, signal, away := s.Agent("n1"), []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[s.random.IntN(2)], s.draw(agentAway)
	_ = syscall.Kill(agent.PID(), signal) // it runs
	failed := make(chan error, 1)
	time.AfterFunc(away, func() { // which wait waits for
		<-agent.Ended()
		failed <- agent.Start()
	})
	s.T.Logf("the agent gets signal %v and is away for %v", signal, away)
	return func() { s.Check(<-failed) }
}

// loseServer ends or kills some server, or has another one lead.
func (s *startScene) loseServer() {
	server, away := s.Servers[s.random.IntN(len(s.Servers))], time.NewTimer(s.draw(serverAway))
	defer away.Stop()
	switch s.random.IntN(3) {
	case 0:
		server.Kill()
	case 1:
		s.Check(server.Stop())
	default:
		s.Check(s.StepDown(s.Ctx))
		return
	}
	s.T.Logf("server %s is lost", server.Name)
	<-away.C
	s.Check(server.Start())
}

// The agent and leaders are lost while jobs with input start: each byte comes once, and none waits
// for input that was lost.
func TestLostAtTheStart(t *testing.T) {
	s := &startScene{Scene: daemonstest.NewScene(t, daemons.Options{Bin: bin, Servers: 3, Nodes: 1, Slice: startSlice, Grace: time.Minute})}
	seed := *startSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 32)
	}
	t.Logf("seed %d", seed)
	s.random = rand.New(rand.NewPCG(seed, 0))
	for range *startRounds {
		_, err := s.AwaitLeader(s.Ctx, "", s.OtherServers(nil)...)
		s.Check(err)
		s.Check(s.AwaitUp(s.Ctx))
		var all sync.WaitGroup
		step := time.NewTicker(startStep)
		for i := range starts {
			job := s.compressing(s.Servers[i%len(s.Servers)])
			all.Go(func() {
				if err := job.run(); err != nil {
					t.Errorf("job %d: %v", i, err)
				}
			})
			<-step.C
		}
		step.Stop()
		agentIsBack := s.loseAgent()
		for range 2 {
			time.Sleep(s.draw(between)) // when the fault happens
			s.loseServer()
		}
		agentIsBack()
		all.Wait()
	}
	s.End()
}
