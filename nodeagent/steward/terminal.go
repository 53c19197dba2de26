package steward

import (
	"errors"
	"fmt"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/terminal"

	"golang.org/x/sys/unix"
)

// errTerminal means that no terminal can be made for a rank.
var errTerminal = errors.New("no pseudoterminal can be made")

// hasTerminal reports whether a rank's standard streams are a terminal.
func (j *job) hasTerminal(rank uint32) bool { return rank == 0 && j.spec.GetTerminal() != nil }

// openTerminal gives a rank a pseudoterminal. Everything that the rank writes to it is its standard
// output; its error output has ended.
func (b *batch) openTerminal(j *job, c *childFDs) error {
	master, slave, err := terminal.New(j.spec.GetTerminal(), j.user)
	if err != nil {
		return fmt.Errorf("%w: %w", errTerminal, err)
	}
	c.stdin, c.stdout, c.stderr = slave, slave, slave
	b.outputs = append(b.outputs, master)
	sink, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	b.sinks = append(b.sinks, sink)
	silent, write, err := pipe()
	if err != nil {
		return err
	}
	loop.CloseFD(write)
	b.outputs = append(b.outputs, silent)
	return notBlocking(silent)
}
