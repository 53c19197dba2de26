package daemonstest

import (
	"context"
	"os/exec"
	"score/tests/daemons"
	"score/tests/journal"
	"slices"
	"strings"
	"testing"
)

// Program is one of score's programs that a test runs beside its cluster.
type Program struct {
	t       *testing.T
	command *exec.Cmd
	ended   chan struct{}
	said    journal.Journal // both streams, as they came
}

// Begin starts a program, which asks the daemon at a socket, in the cluster's directory, and kills
// it when the test ends.
func Begin(t *testing.T, c *daemons.Cluster, socket, name string, arguments ...string) *Program {
	t.Helper()
	p := &Program{t: t, command: c.Program(context.Background(), socket, name, arguments...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = &p.said, &p.said
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // the state says how
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill() // it may have ended
		<-p.ended
	})
	return p
}

// String is its command line.
func (p *Program) String() string { return p.command.String() }

// Said is what it has said so far.
func (p *Program) Said() string { return p.said.String() }

// Over reports whether it has ended.
func (p *Program) Over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Code waits for its end, and is its exit code.
func (p *Program) Code() int {
	p.t.Helper()
	if err := daemons.Await(p.t.Context(), "the end of "+p.String(), p.Over); err != nil {
		p.t.Fatalf("%v\n%s", err, p.Said())
	}
	return p.command.ProcessState.ExitCode()
}

// Ends reports that it ends with this code, having said all these words.
func (p *Program) Ends(code int, words ...string) {
	p.t.Helper()
	got, said := p.Code(), p.Said()
	missing := func(word string) bool { return !strings.Contains(said, word) }
	if got != code || slices.ContainsFunc(words, missing) {
		p.t.Errorf("%s: exit code %d, want %d and %q:\n%s", p, got, code, words, said)
	}
}
