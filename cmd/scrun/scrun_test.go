package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"score/tests/signals"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// playVariable makes this test binary play scrun.
const playVariable = "SCORE_TEST_PLAY_SCRUN"

func TestMain(m *testing.M) {
	if os.Getenv(playVariable) != "" {
		end(run(os.Args[1:]))
	}
	if os.Getenv(pumpVariable) != "" {
		os.Exit(pumpInBackground())
	}
	signals.Allow()
	code := m.Run()
	removeBuilt()
	os.Exit(code)
}

// scrun is a process of scrun against the daemon at socket.
func scrun(t *testing.T, socket string, arguments ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, arguments...)
	command.Env = append(os.Environ(), playVariable+"=1", "SCORE_SOCKET="+socket)
	return command
}

// outcomeOf runs a command to its end.
func outcomeOf(t *testing.T, command *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

// accept is a Submit that takes every job.
func accept(*scorev1.JobSpec) (uint64, error) { return 7, nil }

func TestRuns(t *testing.T) {
	places := []*scorev1.NodePlace{{Node: "n1", Ranks: []uint32{0, 1}}, {Node: "n2", Ranks: []uint32{2}}}
	for name, test := range map[string]struct {
		arguments string
		attach    func(*clienttest.Attachment)
		code      int
		out, err  string
	}{
		"quiet": {
			arguments: "-n 3 prog",
			attach: func(job *clienttest.Attachment) {
				job.State(scorev1.JobState_JOB_STATE_STARTING, places...)
				job.State(scorev1.JobState_JOB_STATE_RUNNING, places...)
				job.Print(1, 1, "one\n")
				job.Print(0, 2, "zero\n")
				job.End(0, "")
			},
			out: "one\n", err: "zero\n",
		},
		"lines do not mix": {
			arguments: "-n 2 prog",
			attach: func(job *clienttest.Attachment) {
				job.Print(0, 1, "hel")
				job.Print(1, 1, "good")
				job.Print(0, 1, "lo\nwor")
				job.Print(1, 1, "bye\n")
				job.Print(0, 1, "ld")
				job.EOF(0, 1)
				job.End(0, "")
			},
			out: "hello\ngoodbye\nworld",
		},
		"labels": {
			arguments: "-l -n 2 prog",
			attach: func(job *clienttest.Attachment) {
				job.Print(1, 1, "a\nb\n")
				job.Print(0, 2, "c")
				job.End(0, "")
			},
			out: "1: a\n1: b\n", err: "0: c\n",
		},
		"verbose": {
			arguments: "-v -n 3 prog",
			attach: func(job *clienttest.Attachment) {
				job.State(scorev1.JobState_JOB_STATE_STARTING, places...)
				job.State(scorev1.JobState_JOB_STATE_RUNNING, places...)
				job.End(0, "")
			},
			err: "scrun: job 7 was submitted at SOCKET\n" +
				"scrun: job 7 is being started on n1 (ranks 0-1), n2 (rank 2)\n" +
				"scrun: job 7 runs on n1 (ranks 0-1), n2 (rank 2)\n",
		},
		"warning": {
			arguments: "prog",
			attach: func(job *clienttest.Attachment) {
				job.Warn("four programs of one rank each")
				job.End(0, "")
			},
			err: "scrun: warning: four programs of one rank each\n",
		},
		"no warning": {
			arguments: "-q prog",
			attach: func(job *clienttest.Attachment) {
				job.Warn("four programs of one rank each")
				job.End(3, "")
			},
			code: 3,
		},
		"failed rank": {
			arguments: "prog",
			attach: func(job *clienttest.Attachment) {
				job.End(139, "rank 0 on node n1 was killed by signal 11 (SIGSEGV); the job was ended")
			},
			code: 139, err: "scrun: rank 0 on node n1 was killed by signal 11 (SIGSEGV); the job was ended\n",
		},
		"not found": {
			arguments: "prog",
			attach:    func(job *clienttest.Attachment) { job.End(127, "prog was not found on node n1") },
			code:      127, err: "scrun: prog was not found on node n1\n",
		},
		"refused": {
			arguments: "prog",
			attach:    func(job *clienttest.Attachment) { job.Fail(connect.CodeNotFound, "there is no job 7") },
			code:      125, err: "scrun: there is no job 7\n",
		},
		"lost": {
			arguments: "prog",
			attach:    func(*clienttest.Attachment) {},
			code:      125, err: "scrun: the connection to the cluster's daemon was lost; 'scored job list' tells whether the job goes on\n",
		},
		"errors elsewhere": {
			arguments: "-n 2 -o none -e 1 prog",
			attach: func(job *clienttest.Attachment) {
				job.Print(0, 1, "a\n")
				job.Print(0, 2, "b\n")
				job.Print(1, 2, "c\n")
				job.End(0, "")
			},
			err: "c\n",
		},
		"ranks that do not exist": {
			arguments: "prog",
			attach: func(job *clienttest.Attachment) {
				job.Print(1<<20, 1, "a\n")
				job.Print(0, 3, "b\n")
				job.End(0, "")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			socket := clienttest.Serve(t, clienttest.Daemon{Submit: accept, Attach: test.attach})
			code, out, errs := outcomeOf(t, scrun(t, socket, strings.Fields(test.arguments)...))
			errs = strings.ReplaceAll(errs, socket, "SOCKET")
			if code != test.code || out != test.out || errs != test.err {
				t.Errorf("exit code %d, output %q, errors %q;\nwant %d, %q, %q", code, out, errs, test.code, test.out, test.err)
			}
		})
	}
}

// What scrun cannot do by itself changes nothing: no job is submitted.
func TestOwnErrors(t *testing.T) {
	dir := t.TempDir()
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: func(*scorev1.JobSpec) (uint64, error) {
			t.Error("a job was submitted")
			return 0, errors.New("no")
		},
	})
	for arguments, want := range map[string]string{
		"":                         "name the program to run: scrun [options] program [arguments]; 'scrun --help' explains",
		"-n 0 prog":                "--ntasks 0: it must be at least 1",
		"-n -1 prog":               "--ntasks -1: it must be at least 1",
		"-N 3 -n 2 prog":           "3 nodes need at least 3 ranks, -n asks for 2",
		"-o DIR/missing/file prog": "opening the output file: open DIR/missing/file: no such file or directory",
		"-i DIR/missing prog":      "cannot read the input: open DIR/missing: no such file or directory",
		"-i DIR prog":              "cannot read the input: DIR is a directory",
		"--cluster DIR/x prog":     "no daemon answers at DIR/x, which --cluster names: no such file or directory; start it, or give another socket",
	} {
		code, out, errs := outcomeOf(t, scrun(t, socket, strings.Fields(strings.ReplaceAll(arguments, "DIR", dir))...))
		want := "scrun: " + strings.ReplaceAll(want, "DIR", dir) + "\n"
		if code != 125 || out != "" || errs != want {
			t.Errorf("scrun %s: exit code %d, output %q, errors %q; want 125 and %q", arguments, code, out, errs, want)
		}
	}
}

func TestRefusedSubmission(t *testing.T) {
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: func(*scorev1.JobSpec) (uint64, error) {
			return 0, connect.NewError(connect.CodeInvalidArgument, errors.New("64 CPUs are more than the 4 of the whole cluster"))
		},
	})
	code, _, errs := outcomeOf(t, scrun(t, socket, "-n", "64", "prog"))
	if want := "scrun: 64 CPUs are more than the 4 of the whole cluster\n"; code != 125 || errs != want {
		t.Errorf("exit code %d, %q; want 125, %q", code, errs, want)
	}
}

func TestDetach(t *testing.T) {
	specs := make(chan *scorev1.JobSpec, 1)
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: func(spec *scorev1.JobSpec) (uint64, error) {
			specs <- spec
			return 42, nil
		},
	})
	command := scrun(t, socket, "-d", "-l", "-n", "2", "prog", "-n", "9")
	command.Dir = t.TempDir()
	code, out, errs := outcomeOf(t, command)
	if code != 0 || out != "42\n" || errs != "" {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
	spec := <-specs
	if !spec.GetDetached() || !spec.GetLabel() || spec.GetStdoutPattern() != command.Dir+"/score-%j.out" || spec.GetStderrPattern() != "" {
		t.Errorf("detached %v, label %v, output %q, errors %q", spec.GetDetached(), spec.GetLabel(), spec.GetStdoutPattern(), spec.GetStderrPattern())
	}
	if got := strings.Join(spec.GetArgv(), " "); got != "prog -n 9" {
		t.Errorf("the program is %q", got)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	socket := clienttest.Serve(t, clienttest.Daemon{Submit: accept, Attach: func(job *clienttest.Attachment) {
		job.State(scorev1.JobState_JOB_STATE_RUNNING, &scorev1.NodePlace{Node: "n1", Ranks: []uint32{0, 1}})
		job.Print(0, 1, "zero\n")
		job.Print(1, 1, "one\n")
		job.Print(1, 2, "error\n")
		job.EOF(0, 2)
		job.End(0, "")
	}})
	command := scrun(t, socket, "-n", "2", "-o", "out.%t", "-e", "%N-%j.%2t", "prog")
	command.Dir = dir
	if code, out, errs := outcomeOf(t, command); code != 0 || out != "" || errs != "" {
		t.Fatalf("exit code %d, output %q, errors %q", code, out, errs)
	}
	for name, want := range map[string]string{"out.0": "zero\n", "out.1": "one\n", "n1-7.00": "", "n1-7.01": "error\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestInput(t *testing.T) {
	var received bytes.Buffer
	modes := make(chan scorev1.StdinMode, 1)
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: func(spec *scorev1.JobSpec) (uint64, error) {
			modes <- spec.GetStdin()
			return 7, nil
		},
		Attach: func(job *clienttest.Attachment) {
			received.Reset()
			for input := job.Stdin(); !input.GetEof() && input != nil; input = job.Stdin() {
				received.Write(input.GetData())
			}
			job.End(0, "")
		},
	})
	text := strings.Repeat("a line of input\n", 100_000)
	file := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]scorev1.StdinMode{
		"prog":                      scorev1.StdinMode_STDIN_MODE_RANK0,
		"-i 0 prog":                 scorev1.StdinMode_STDIN_MODE_RANK0,
		"-i all prog":               scorev1.StdinMode_STDIN_MODE_ALL,
		"-i " + file + " -n 2 prog": scorev1.StdinMode_STDIN_MODE_ALL,
	} {
		command := scrun(t, socket, strings.Fields(arguments)...)
		command.Stdin = strings.NewReader(text)
		if code, _, errs := outcomeOf(t, command); code != 0 {
			t.Errorf("scrun %s: exit code %d, %s", arguments, code, errs)
		}
		if mode := <-modes; mode != want || received.String() != text {
			t.Errorf("scrun %s: %v, %d bytes of input; want %v, %d", arguments, mode, received.Len(), want, len(text))
		}
	}
}

// A job that ends without reading its input does not keep scrun.
func TestInputNobodyReads(t *testing.T) {
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Attach: func(job *clienttest.Attachment) { job.End(0, "") },
	})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	command := scrun(t, socket, "prog")
	command.Stdin = read // never ends
	if code, _, errs := outcomeOf(t, command); code != 0 {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// The reader of scrun's output goes away: the job is ended, as if it had been
// the program itself in front of head.
func TestBrokenPipe(t *testing.T) {
	cancelled := make(chan uint64, 1)
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Cancel: func(id uint64) error {
			cancelled <- id
			return nil
		},
		Attach: func(job *clienttest.Attachment) {
			for len(cancelled) == 0 {
				if job.Print(0, 1, strings.Repeat("y\n", 1000)) != nil {
					return
				}
			}
			job.End(143, "cancelled")
		},
	})
	command := scrun(t, socket, "prog")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	command.Stderr = &errs
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != 141 || errs.Len() != 0 {
		t.Errorf("exit code %d, %q; want 141 and silence", code, errs.String())
	}
}

// A full disk ends the job, and the user is told.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	ends := make(chan struct{})
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Cancel: func(uint64) error {
			close(ends)
			return nil
		},
		Attach: func(job *clienttest.Attachment) {
			job.Print(0, 1, "text\n")
			<-ends
			job.End(143, "cancelled")
		},
	})
	code, _, errs := outcomeOf(t, scrun(t, socket, "-o", "/dev/full", "prog"))
	if want := "scrun: writing the output file /dev/full: write /dev/full: no space left on device\n"; code != 125 || errs != want {
		t.Errorf("exit code %d, %q; want 125, %q", code, errs, want)
	}
}

// The number of a detached job is its user's only way to it.
func TestFullDiskForTheNumber(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	command := scrun(t, clienttest.Serve(t, clienttest.Daemon{Submit: accept}), "-d", "prog")
	var errs bytes.Buffer
	command.Stdout, command.Stderr = full, &errs
	_ = command.Run() // the code tells
	const want = "scrun: job 7 was submitted, and its number cannot be written: write /dev/stdout: no space left on device\n"
	if code := command.ProcessState.ExitCode(); code != 125 || errs.String() != want {
		t.Errorf("exit code %d, %q; want 125, %q", code, errs.String(), want)
	}
}

// A job that ends by itself while it is ended for a full disk is no second trouble.
func TestFullDiskAtTheEnd(t *testing.T) {
	asked := make(chan struct{})
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Cancel: func(id uint64) error {
			defer close(asked)
			return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("job %d has ended already", id))
		},
		Attach: func(job *clienttest.Attachment) {
			job.Print(0, 1, "text\n")
			<-asked
			job.End(0, "")
		},
	})
	code, _, errs := outcomeOf(t, scrun(t, socket, "-o", "/dev/full", "prog"))
	if want := "scrun: writing the output file /dev/full: write /dev/full: no space left on device\n"; code != 125 || errs != want {
		t.Errorf("exit code %d, %q; want 125, %q", code, errs, want)
	}
}

// signalled starts scrun and gives its standard error line by line.
func signalled(t *testing.T, socket string) (*exec.Cmd, *bytesReader) {
	t.Helper()
	command := scrun(t, socket, "-i", "none", "-n", "4", "prog")
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

// The job has ended after the second ^C. A script ends if scrun has died of the signal, and else
// goes on with its next line.
func TestInterruptedJobEnds(t *testing.T) {
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
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-attached
	tick := time.NewTicker(confirmTime / 4)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
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

func TestVersion(t *testing.T) {
	code, out, errs := outcomeOf(t, scrun(t, "/nowhere", "--version"))
	if code != 0 || !strings.HasPrefix(out, "scrun ") || errs != "" {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
}
