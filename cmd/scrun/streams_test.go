package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

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
	if want := "scrun: writing the output file /dev/full: no space left on device\n"; code != 125 || errs != want {
		t.Errorf("exit code %d, %q; want 125, %q", code, errs, want)
	}
}

// The number of a detached job is its user's only way to it.
func TestFullDiskForTheNumber(t *testing.T) {
	socket := clienttest.Serve(t, clienttest.Daemon{Submit: accept})
	failsOnFullDisk(t, scrun(t, socket, "-d", "prog"),
		"scrun: job 7 was submitted, but its number cannot be written: write /dev/stdout: no space left on device\n")
}

func TestFullDiskForTheVersion(t *testing.T) {
	failsOnFullDisk(t, scrun(t, "", "--version"), "scrun: write /dev/stdout: no space left on device\n")
}

// failsOnFullDisk runs a command whose standard output is full.
func failsOnFullDisk(t *testing.T, command *exec.Cmd, want string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var errs bytes.Buffer
	command.Stdout, command.Stderr = full, &errs
	_ = command.Run() // the code tells
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
	if want := "scrun: writing the output file /dev/full: no space left on device\n"; code != 125 || errs != want {
		t.Errorf("exit code %d, %q; want 125, %q", code, errs, want)
	}
}
