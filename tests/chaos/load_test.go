package chaos

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/daemons"
	"score/tests/journal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// submitTimeout bounds a submission: some seconds of work, an scrun that waits 30 s for its
	// daemon, and a job that is given up after that.
	submitTimeout = 2 * time.Minute
	// orphanTimeout is when the job of an scrun that was killed has ended: 10 s of grace, which
	// each leader starts again, and leaders are lost every few seconds.
	orphanTimeout = 3 * time.Minute
	// maxThink is between two submissions of a worker.
	maxThink = 500 * time.Millisecond
)

// submission is one scrun.
type submission struct {
	token, kind string
	dir         string // of files
	server      string // that scrun asks
	nodes       []string
	ranks       int
	options     []string
	script      string
	input       []byte
	file        string // where the output goes; empty: scrun's own
	code        int
	again       bool // it may run more than once
	detached    bool
	check       func([]byte) error

	command      *exec.Cmd
	out, said    journal.Journal
	killed       bool // its scrun, by a fault
	began, ended time.Time
}

// work submits jobs, one after the other, until ctx ends.
func (w *world) work(ctx context.Context, r *rand.Rand) {
	var menu []kind
	for _, k := range kinds {
		menu = append(menu, slices.Repeat([]kind{k}, k.weight)...)
	}
	for pause(ctx, short(r, maxThink)) {
		s := w.draw(r, pick(r, menu))
		w.run(s)
		w.judge(s)
	}
}

// draw makes a submission of a kind.
func (w *world) draw(r *rand.Rand, k kind) *submission {
	server := pick(r, w.OtherServers(nil))
	w.mu.Lock()
	w.submissions++
	token := fmt.Sprintf("j%d", w.submissions)
	w.mu.Unlock()
	s := &submission{token: token, kind: k.name, dir: w.Dir, server: server.Name, ranks: 1}
	k.shape(s, r)
	for _, i := range r.Perm(len(nodes)) {
		s.nodes = append(s.nodes, nodes[i])
	}
	if s.again { // anywhere
		return s
	}
	s.nodes = s.nodes[:s.ranks] // a rank on each
	s.options = append(s.options, "-w", strings.Join(s.nodes, ","))
	return s
}

// ran is the file to which each rank of a submission appends its number when it begins.
func (s *submission) ran() string { return filepath.Join(s.dir, s.token+".ran") }

// run has an scrun run the submission, and waits for its end.
func (w *world) run(s *submission) {
	line := append([]string{"-J", s.token, "--mem", "8M", "-N", strconv.Itoa(s.ranks), "-n", strconv.Itoa(s.ranks), "-s"}, s.options...)
	line = append(line, "sh", "-c", `echo "$SCORE_RANK" >>"$RAN"; `+s.script)
	ctx, cancel := context.WithTimeout(w.Ctx, submitTimeout)
	defer cancel()
	s.command = w.Program(ctx, w.ServerNamed(s.server).Socket, "scrun", line...)
	s.command.Env = append(s.command.Env, "RAN="+s.ran())
	s.command.Stdin, s.command.Stdout, s.command.Stderr = bytes.NewReader(s.input), &s.out, &s.said
	s.command.Cancel = func() error { return s.command.Process.Signal(syscall.SIGQUIT) } // it tells where it hangs
	s.command.WaitDelay = 10 * time.Second
	s.began = time.Now()
	if err := s.command.Start(); err != nil {
		w.T.Errorf("%s: %v", s.token, err)
		return
	}
	w.mu.Lock()
	w.running[s] = true
	w.mu.Unlock()
	_ = s.command.Wait() // its state says how
	w.mu.Lock()
	delete(w.running, s)
	w.mu.Unlock()
	if s.detached && !s.killed && s.command.ProcessState.ExitCode() == 0 || s.killed {
		w.awaitEnd(s)
	}
	s.ended = time.Now()
}

// awaitEnd waits for the end of a job without scrun.
func (w *world) awaitEnd(s *submission) {
	timeout := submitTimeout
	if s.killed && !s.detached {
		timeout = orphanTimeout
	}
	deadline := time.Now().Add(timeout)
	for time.Now().Before(deadline) {
		if job := w.find(s.token); job == nil && s.killed || job.GetVerdict() != nil {
			return // it was killed before it had submitted, or it has ended
		}
		if !pause(w.Ctx, 100*time.Millisecond) {
			return
		}
	}
	w.T.Errorf("%s, %s: the job goes on %v after its scrun has left: %v", s.token, s.kind, timeout, w.find(s.token))
}

// find asks for a job by its name, until some server answers.
func (w *world) find(name string) (found *scorev1.Job) {
	err := daemons.Await(w.Ctx, "a server lists the jobs", func() bool {
		for _, server := range w.OtherServers(nil) {
			job, err := findBy(w.Ctx, server.Socket, name)
			if err == nil {
				found = job
				return true
			}
		}
		return false
	})
	if err != nil {
		w.T.Errorf("job %s: %v", name, err)
	}
	return found
}

// askTimeout bounds a question to one server, which may be stopped.
const askTimeout = 3 * time.Second

func findBy(ctx context.Context, socket, name string) (found *scorev1.Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	user := client.New(socket)
	defer user.Close()
	for job, err := range user.ListJobs(ctx, &scorev1.ListJobsRequest{All: true}) {
		if err != nil {
			return nil, err
		}
		if job.GetSpec().GetName() == name {
			found = job
		}
	}
	return found, nil
}

// calm has one job of each kind run, without faults.
func (w *world) calm() {
	r := w.random(uint64(1000))
	for _, k := range kinds {
		s := w.draw(r, k)
		w.run(s)
		if err := w.verdict(s); err != nil {
			w.T.Errorf("%s, %s, without faults: %v", s.token, s.kind, err)
		}
	}
}
