package main

import (
	"bytes"
	"errors"
	"os"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"testing"
)

// receiverFunc is a receiver that only takes input.
type receiverFunc func(*scorev1.Stdin) error

func (f receiverFunc) receive(input *scorev1.Stdin) error { return f(input) }
func (f receiverFunc) onFailed(error)                     {}
func (f receiverFunc) onEscape()                          {}

func TestPump(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	want := bytes.Repeat([]byte("0123456789"), 30_000)
	go func() {
		_, _ = write.Write(want)
		write.Close()
	}()
	var got bytes.Buffer
	pump, err := startPump(read, receiverFunc(func(input *scorev1.Stdin) error {
		if len(input.GetData()) > inputChunk {
			t.Errorf("a message of %d bytes", len(input.GetData()))
		}
		got.Write(input.GetData())
		return nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-pump.done
	pump.Stop()
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes came through, want %d", got.Len(), len(want))
	}
}

// An input that cannot be read is not one that has ended.
func TestUnreadableInput(t *testing.T) {
	directory, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer directory.Close()
	for code, want := range map[int]int{0: exitCluster, 7: 7} {
		command := scrun(t, clienttest.Serve(t, clienttest.Daemon{Submit: accept, Attach: func(job *clienttest.Attachment) {
			if !job.Stdin().GetEof() {
				t.Error("the ranks get input")
			}
			job.End(int32(code), "")
		}}), "prog")
		command.Stdin = directory
		got, _, errs := outcomeOf(t, command)
		if got != want || errs != "scrun: cannot read the input: read /dev/stdin: is a directory; the ranks have what was before\n" {
			t.Errorf("a job with code %d: exit code %d, %q", code, got, errs)
		}
	}
}

// Stop ends a pump whose source never says anything.
func TestPumpStop(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	pump, err := startPump(read, receiverFunc(func(*scorev1.Stdin) error { return nil }), nil)
	if err != nil {
		t.Fatal(err)
	}
	pump.Stop()
}

// A receiver that is gone ends the pump; nothing more is read.
func TestPumpRefused(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	if _, err := write.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	sent := 0
	pump, err := startPump(read, receiverFunc(func(*scorev1.Stdin) error {
		sent++
		return errors.New("gone")
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-pump.done
	pump.Stop()
	if sent != 1 {
		t.Errorf("%d messages, want 1", sent)
	}
}
