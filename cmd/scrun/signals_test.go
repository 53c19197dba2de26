package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"score/tests/terminal"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// signalled starts scrun and gives its standard error line by line.
func signalled(t *testing.T, socket string) (*exec.Cmd, *bytesReader) {
	t.Helper()
	command := scrun(t, socket, "-i", "none", "-n", "4", "prog")
	atTerminal(t, command)
	errs, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	return command, &bytesReader{t: t, from: errs}
}

// atTerminal starts the command in the foreground of a terminal of its own, from which it reads.
func atTerminal(t *testing.T, command *exec.Cmd) {
	t.Helper()
	_, command.Stdin = terminal.Open(t)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}

// bytesReader reads whole lines that are expected.
type bytesReader struct {
	t    *testing.T
	from io.Reader
}

func (r *bytesReader) expect(want string) {
	r.t.Helper()
	r.either(want, want)
}

// either reads one of two texts that differ early, and gives which.
func (r *bytesReader) either(one, other string) string {
	r.t.Helper()
	var got []byte
	for strings.HasPrefix(one, string(got)) || strings.HasPrefix(other, string(got)) {
		if string(got) == one || string(got) == other {
			return string(got)
		}
		next := make([]byte, 1)
		if _, err := io.ReadFull(r.from, next); err != nil {
			r.t.Fatalf("got %q (%v), want %q or %q", got, err, one, other)
		}
		got = append(got, next...)
	}
	r.t.Fatalf("got %q, want %q or %q", got, one, other)
	return ""
}

func TestInterrupts(t *testing.T) {
	attached := make(chan struct{}, 1)
	cancelled := make(chan struct{}, 1)
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Attach: func(job *clienttest.Attachment) {
			attached <- struct{}{}
			<-job.Done()
		},
		Cancel: func(uint64) error {
			cancelled <- struct{}{}
			return nil
		},
		GetJob: func(id uint64) (*scorev1.GetJobResponse, error) {
			return &scorev1.GetJobResponse{
				Job: &scorev1.Job{Id: id, State: scorev1.JobState_JOB_STATE_RUNNING, Places: []*scorev1.NodePlace{
					{Node: "n1", Ranks: []uint32{0, 1}}, {Node: "n2", Ranks: []uint32{2, 3}},
				}},
				Ranks: []*scorev1.RankState{
					{Rank: 0, Node: "n1", State: "running"},
					{Rank: 1, Node: "n1", State: "exited", ExitCode: 3},
					{Rank: 2, Node: "n2", State: "frozen"},
					{Rank: 3, Node: "n2", State: "frozen"},
				},
			}, nil
		},
	})
	command, errs := signalled(t, socket)
	<-attached
	interrupt := func() {
		if err := command.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	const shown = "scrun: job 7 runs on n1 (ranks 0-1), n2 (ranks 2-3)\n" +
		"scrun: rank 0 on n1 running\n" +
		"scrun: rank 1 on n1 exited with code 3\n" +
		"scrun: ranks 2-3 on n2 frozen\n" +
		"scrun: ^C again within 1s ends the job\n"
	interrupt()
	errs.expect(shown)
	interrupt()
	const ending = "scrun: ending the job; ^C once more leaves without waiting for its end\n"
	for errs.either(shown, ending) == shown {
		interrupt() // a busy machine has taken the second for one that was not meant
	}
	<-cancelled
	interrupt()
	_ = command.Wait()
	if code := shellCode(command.ProcessState); code != diedOf+int(syscall.SIGINT) {
		t.Errorf("exit code %d", code)
	}
}

// diedOf is added to the number of the signal that ended a program, where exit codes are compared.
const diedOf = 1000

// shellCode tells what a script finds out: the exit code, or which signal has ended the program.
func shellCode(p *os.ProcessState) int {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return diedOf + int(status.Signal())
	}
	return p.ExitCode()
}

// The job has ended after the second ^C, or after one SIGINT of a program. A script ends if scrun
// has died of the signal, and else goes on with its next line.
func TestInterruptedJobEnds(t *testing.T) {
	t.Run("typed", func(t *testing.T) {
		testInterruptedJobEnds(t, func(command *exec.Cmd) { atTerminal(t, command) }, time.Tick(confirmTime/4))
	})
	t.Run("sent", func(t *testing.T) {
		once := make(chan time.Time, 1)
		once <- time.Now()
		alone := func(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
		testInterruptedJobEnds(t, alone, once)
	})
}

func testInterruptedJobEnds(t *testing.T, prepare func(*exec.Cmd), interrupt <-chan time.Time) {
	t.Helper()
	attached, cancelled := make(chan struct{}), make(chan struct{})
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Attach: func(job *clienttest.Attachment) {
			close(attached)
			<-cancelled
			job.End(143, "the job was cancelled by ann")
		},
		Cancel: func(uint64) error {
			close(cancelled)
			return nil
		},
		GetJob: func(id uint64) (*scorev1.GetJobResponse, error) {
			return &scorev1.GetJobResponse{Job: &scorev1.Job{Id: id, State: scorev1.JobState_JOB_STATE_RUNNING}}, nil
		},
	})
	command := scrun(t, socket, "prog")
	prepare(command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-attached
	for running := true; running; {
		select {
		case <-interrupt:
			if err := command.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		case <-cancelled:
			running = false
		}
	}
	_ = command.Wait() // the state tells
	if code := shellCode(command.ProcessState); code != diedOf+int(syscall.SIGINT) {
		t.Errorf("exit code %d", code)
	}
}

// A signal that comes while the cluster does not answer ends scrun, with a
// sentence on what may have become of the job.
func TestLeavingBeforeTheAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		signal    syscall.Signal
		arguments []string
		code      int
	}{
		"interrupt":          {syscall.SIGINT, []string{"prog"}, diedOf + int(syscall.SIGINT)},
		"terminate":          {syscall.SIGTERM, []string{"prog"}, 143},
		"hang up":            {syscall.SIGHUP, []string{"prog"}, 129},
		"detached interrupt": {syscall.SIGINT, []string{"-d", "prog"}, diedOf + int(syscall.SIGINT)},
	} {
		t.Run(name, func(t *testing.T) {
			asked, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			socket := clienttest.Serve(t, clienttest.Daemon{Submit: func(*scorev1.JobSpec) (uint64, error) {
				close(asked)
				<-release
				return 0, errors.New("too late")
			}})
			command := scrun(t, socket, test.arguments...)
			var errs bytes.Buffer
			command.Stderr = &errs
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			if err := command.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait() // the code tells
			if code := shellCode(command.ProcessState); code != test.code || errs.String() != "scrun: "+unanswered+"\n" {
				t.Errorf("exit code %d, %q; want %d, %q", code, errs.String(), test.code, unanswered)
			}
		})
	}
}

// Signals for the ranks do not end scrun while the cluster does not answer;
// they reach the job once there is one.
func TestSignalsWaitForTheJob(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	delivered := make(chan int32, 1)
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: func(*scorev1.JobSpec) (uint64, error) {
			close(asked)
			<-release
			return 7, nil
		},
		Signal: func(_ uint64, number int32) error {
			delivered <- number
			return nil
		},
		Attach: func(job *clienttest.Attachment) {
			if number := <-delivered; number != int32(syscall.SIGUSR1) {
				t.Errorf("signal %d was delivered", number)
			}
			job.End(0, "")
		},
	})
	command := scrun(t, socket, "prog")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := command.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}

func TestForwardedSignals(t *testing.T) {
	attached := make(chan struct{}, 1)
	got := make(chan int32, 1)
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Signal: func(id uint64, signal int32) error {
			got <- signal
			switch signal {
			case int32(syscall.SIGQUIT): // which is what it was for
				return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("job %d has ended already", id))
			case int32(syscall.SIGUSR2):
				return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("job %d has not started", id))
			}
			return nil
		},
		Attach: func(job *clienttest.Attachment) {
			attached <- struct{}{}
			<-job.Done()
		},
	})
	command, errs := signalled(t, socket)
	<-attached
	for _, signal := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGALRM, syscall.SIGCONT, syscall.SIGUSR2,
	} {
		if err := command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if number := <-got; number != int32(signal) {
			t.Errorf("the ranks got signal %d, want %d", number, signal)
		}
	}
	errs.expect("scrun: signal 12 did not reach the ranks: job 7 has not started\n")
}
