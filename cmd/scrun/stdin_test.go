package main

import (
	"bytes"
	"errors"
	"os"
	"score/scored/api/scorev1"
	"testing"
)

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
	pump, err := startPump(read, func(input *scorev1.Stdin) error {
		if len(input.GetData()) > inputChunk {
			t.Errorf("a message of %d bytes", len(input.GetData()))
		}
		got.Write(input.GetData())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-pump.done
	pump.Stop()
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes came through, want %d", got.Len(), len(want))
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
	pump, err := startPump(read, func(*scorev1.Stdin) error { return nil })
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
	pump, err := startPump(read, func(*scorev1.Stdin) error {
		sent++
		return errors.New("gone")
	})
	if err != nil {
		t.Fatal(err)
	}
	<-pump.done
	pump.Stop()
	if sent != 1 {
		t.Errorf("%d messages, want 1", sent)
	}
}
