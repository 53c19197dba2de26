package main

import (
	"bytes"
	"fmt"
	"os"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
)

// TestLeavingAStuckPipe: timeout(1) sends SIGTERM once, and SIGCONT. Nobody reads what the ranks
// have written, so scrun leaves when they have ended; not before, since they may handle the signal.
func TestLeavingAStuckPipe(t *testing.T) {
	attached, asked := make(chan struct{}), make(chan struct{}, 1)
	states := []scorev1.JobState{scorev1.JobState_JOB_STATE_RUNNING, scorev1.JobState_JOB_STATE_DONE}
	looks := 0
	socket := clienttest.Serve(t, clienttest.Daemon{
		Submit: accept,
		Signal: func(id uint64, signal int32) error {
			if signal == int32(syscall.SIGCONT) {
				return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("job %d has ended already", id))
			}
			asked <- struct{}{}
			return nil
		},
		GetJob: func(id uint64) (*scorev1.GetJobResponse, error) {
			state := states[min(looks, 1)]
			looks++
			return &scorev1.GetJobResponse{Job: &scorev1.Job{Id: id, State: state}}, nil
		},
		Attach: func(job *clienttest.Attachment) {
			_ = job.Print(0, 1, strings.Repeat("x", 1<<20)) // more than a pipe holds
			close(attached)
			<-job.Done()
		},
	})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	command := scrun(t, socket, "-i", "none", "prog")
	var errs bytes.Buffer
	command.Stdout, command.Stderr = write, &errs
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	<-attached
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if signal == syscall.SIGTERM {
			<-asked
		}
	}
	_ = command.Wait() // the code tells
	want := "scrun: left: the job has ended, but nothing takes the rest of its output\n"
	if code := shellCode(command.ProcessState); code != 128+int(syscall.SIGTERM) || errs.String() != want || looks != 2 {
		t.Errorf("exit code %d, %q after %d looks", code, errs.String(), looks)
	}
}
