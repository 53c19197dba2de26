package daemons

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"score/nodeagent"
	"score/scored/api/scorev1"
	"strings"
	"sync"
	"time"
)

// Job is an scrun that runs the example program exchange until its input ends.
type Job struct {
	Name string

	cluster *Cluster
	command *exec.Cmd
	input   io.WriteCloser
	stderr  bytes.Buffer
	ended   chan struct{} // closed at scrun's end
	id      uint64

	mu      sync.Mutex
	reports []Report
	verdict string // its last line, if every message was right
}

// Report is what the program printed at an instant.
type Report struct {
	At     time.Time
	Rounds uint64
	// Pause is the longest between two rounds since the report before.
	Pause time.Duration
}

// reportEvery is the interval of the programs' reports.
const reportEvery = 50 * time.Millisecond

const (
	// exchange is the program, below the directory of scored and scrun.
	exchange = "pm/exchange"
	// maxChannels is more than half of the channels that a node has for the jobs of one row.
	maxChannels = nodeagent.DefaultChannels/2 + 1
)

// Exchange starts a job with one rank on each node. nodes names them as for scrun -w; ranks is
// their number. Without arguments the program goes on until Finish.
func (c *Cluster) Exchange(name, nodes string, ranks int, arguments ...string) (*Job, error) {
	return c.exchange(nil, name, nodes, ranks, arguments...)
}

// ExchangeInTurn starts a job like Exchange's that asks for more than half of a node's channels. So
// two of them on the same nodes are never on at the same time, however many processors these have,
// and their contexts leave the network with each switch.
func (c *Cluster) ExchangeInTurn(name, nodes string, ranks int, arguments ...string) (*Job, error) {
	return c.exchange([]string{"--channels", fmt.Sprint(maxChannels)}, name, nodes, ranks, arguments...)
}

func (c *Cluster) exchange(options []string, name, nodes string, ranks int, arguments ...string) (*Job, error) {
	if len(arguments) == 0 {
		arguments = []string{"-stdin"}
	}
	line := append(options, "-J", name, "-N", fmt.Sprint(ranks), "-n", fmt.Sprint(ranks), "-w", nodes, "-s",
		filepath.Join(c.Bin, exchange), "-report", reportEvery.String())
	line = append(line, arguments...)
	j := &Job{Name: name, cluster: c, ended: make(chan struct{})}
	j.command = c.Program(context.Background(), c.Socket(), "scrun", line...)
	j.command.Env = append(j.command.Env, c.Env...)
	j.command.Stderr = &j.stderr
	var err error
	if j.input, err = j.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := j.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(j.ended)
		j.read(output)
		_ = j.command.Wait() // the state says how
	}()
	return j, nil
}

// read takes the output until it ends.
func (j *Job) read(output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var r Report
		var pause float64
		line := lines.Text()
		j.mu.Lock()
		if strings.Contains(line, "every message is right") {
			j.verdict = line
		} else if _, err := fmt.Sscanf(line, "%d rounds, longest pause %f ms", &r.Rounds, &pause); err == nil {
			r.At, r.Pause = time.Now(), time.Duration(pause*float64(time.Millisecond))
			j.reports = append(j.reports, r)
		}
		j.mu.Unlock()
	}
}

// Finish ends the program's input; it ends after the round that it is in.
func (j *Job) Finish() { j.input.Close() }

// KillScrun kills scrun by signal 9, and waits until that is gone.
func (j *Job) KillScrun() {
	_ = j.command.Process.Kill()
	<-j.ended
}

// Over reports whether scrun has ended.
func (j *Job) Over() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// Result waits for scrun's end and returns its exit code, its standard error, and whether every
// message was right.
func (j *Job) Result(ctx context.Context) (code int, said string, right bool, err error) {
	if err := Await(ctx, "the end of job "+j.Name, j.Over); err != nil {
		return 0, j.stderr.String(), false, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.command.ProcessState.ExitCode(), j.stderr.String(), j.verdict != "", nil
}

// Verdict returns the program's last line; it is empty unless every message was right.
func (j *Job) Verdict() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.verdict
}

// Reports returns the reports after the instant.
func (j *Job) Reports(after time.Time) (found []Report) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.reports {
		if r.At.After(after) {
			found = append(found, r)
		}
	}
	return found
}

// AwaitRounds waits for two reports of rounds from the job after the instant; the first one may be
// of earlier rounds. It returns the longest pause in them.
func (j *Job) AwaitRounds(ctx context.Context, after time.Time) (pause time.Duration, err error) {
	what := "job " + j.Name + " goes on"
	err = Await(ctx, what, func() bool { return j.Over() || len(j.Reports(after)) >= 2 })
	reports := j.Reports(after)
	if err == nil && len(reports) < 2 {
		_, said, _, _ := j.Result(ctx)
		err = fmt.Errorf("not: %s; scrun said %q", what, said)
	}
	for _, r := range reports {
		pause = max(pause, r.Pause)
	}
	return pause, err
}

// ID returns the job's number; it waits until the server has the job.
func (j *Job) ID(ctx context.Context) (uint64, error) {
	err := Await(ctx, "job "+j.Name+" has a number", func() bool {
		if j.id == 0 {
			if job := j.cluster.Find(ctx, j.Name); job != nil {
				j.id = job.GetId()
			}
		}
		return j.id != 0
	})
	return j.id, err
}

// Find finds the last job of that name, ended ones too; nil: there is none.
func (c *Cluster) Find(ctx context.Context, name string) (found *scorev1.Job) {
	for job, err := range c.ListJobs(ctx, &scorev1.ListJobsRequest{All: true}) {
		if err != nil {
			return nil
		}
		if job.GetSpec().GetName() == name {
			found = job
		}
	}
	return found
}

// Living returns the numbers of the jobs that have not ended.
func (c *Cluster) Living(ctx context.Context) (map[uint64]bool, error) {
	living := make(map[uint64]bool)
	for job, err := range c.ListJobs(ctx, &scorev1.ListJobsRequest{}) {
		if err != nil {
			return nil, err
		}
		if job.GetVerdict() == nil {
			living[job.GetId()] = true
		}
	}
	return living, nil
}
