package stewardpool

import (
	"errors"
	"fmt"
	"os/exec"
	"score/nodeagent/steward/client"
	"strings"
	"testing"
)

// A user whose stewards cannot be ended gets no more of them; others do, and the user does once
// some have ended.
func TestHungStewardsOfAUserAreBounded(t *testing.T) {
	p := testPool(t, 0)
	// The stewards are programs that nothing has killed yet: for the pool they are the same as
	// those that the kernel does not let die.
	hang := func(user uint32) (end func()) {
		program := exec.CommandContext(t.Context(), "/bin/cat")
		input, err := program.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		process, err := client.Find("", program.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		p.noteHung(&Steward{host: &host{user: &user, process: process}})
		return func() {
			input.Close()
			_ = program.Wait() // it reads an empty file
			<-process.Done()
		}
	}
	claim := func(user uint32) error {
		s, err := p.Claim(t.Context(), user, false, client.Events{Closed: func(error) {}})
		if err == nil {
			p.discard(s)
		}
		return err
	}
	var ends []func()
	for range maxHung {
		ends = append(ends, hang(ann))
	}
	if err := claim(ann); err != nil {
		t.Errorf("with as many as a user may have: %v", err)
	}
	ends = append(ends, hang(ann))
	if err := claim(ann); !errors.Is(err, ErrHung) {
		t.Errorf("with one more: %v", err)
	}
	if text := p.Problem(); !strings.HasPrefix(text, fmt.Sprint(maxHung+1, " stewards ")) {
		t.Errorf("the node tells of its trouble: %q", text)
	}
	if err := claim(bob); err != nil {
		t.Errorf("another user: %v", err)
	}
	ends[0]()
	if err := claim(ann); err != nil {
		t.Errorf("after the end of one: %v", err)
	}
	for _, end := range ends[1:] {
		end()
	}
	if err := claim(ann); err != nil || p.Problem() != "" {
		t.Errorf("after the end of all: %v, and the trouble is %q", err, p.Problem())
	}
}
