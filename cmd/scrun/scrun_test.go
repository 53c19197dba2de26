package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"score/tests/signals"
	"strings"
	"testing"

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
		"--cluster DIR/no/x prog":  "no daemon answers at DIR/no/x, which --cluster names: no such file or directory; start it, or give another socket",
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

func TestVersion(t *testing.T) {
	code, out, errs := outcomeOf(t, scrun(t, "/nowhere", "--version"))
	if code != 0 || !strings.HasPrefix(out, "scrun ") || errs != "" {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
}
