// Package protocol defines the protocol versions of this program, so that daemons and programs of
// neighbouring versions work together while a cluster is upgraded.
//
// A version is one number for all messages and for the log. It is incremented when an older peer
// could misread a new message or compute another state from a new entry. Additions that may be
// ignored, like most new fields of messages, need no new version. Each version has a line in this
// table:
//
//	1  all that there was before versions were told
//	2  the log says in which version it is written (state: Raise); the setting history; submissions
//	   under keys; jobs that go on without what they lose (recover, respawn); how jobs are to end or
//	   to restart is in the log before their ranks are killed (OrderEnd, OrderRequeue), and why they
//	   restarted; what spawned jobs have of their parents is not in their entries; nodes that jobs
//	   must not get; by which requests names were published, read and taken back, and jobs spawned;
//	   texts of programs that are not UTF-8; of finished jobs those of the user who has most are
//	   forgotten first; jobs that are held, or wait for other jobs
package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// The build sets these (-ldflags -X): with other ranges, tests run daemons of two versions
// together.
var (
	oldest = "1"
	newest = "2"
)

const (
	// First is the protocol of daemons that announce no version.
	First = 1
	// From History on the log may say how many finished jobs are remembered.
	History = 2
	// From HistoryShares on the finished jobs of the user who has most are forgotten first, and all
	// of them are bounded in bytes.
	HistoryShares = 2
	// From Keys on submissions may have keys.
	Keys = 2
	// From Survival on jobs may go on without ranks and nodes that they lose.
	Survival = 2
	// From Exclude on jobs may name nodes that they must not get.
	Exclude = 2
	// From Orders on the log says how jobs must end, or that they must be restarted, and why they
	// were.
	Orders = 2
	// From Inherits on a spawned job's entry of the log may leave out what the job has from its
	// parent.
	Inherits = 2
	// From Answers on the log may say which requests have published, read and removed names, and
	// spawned jobs.
	Answers = 2
	// From Texts on arguments, environment and paths, and names that programs publish, need not be
	// UTF-8.
	Texts = 2
	// From Holds on jobs may be held, and wait for other jobs.
	Holds = 2
)

// Range is the versions that a program understands, both ends inclusive. The zero Range is of a
// program that announces none.
type Range struct{ Oldest, Newest uint32 }

// own is parsed once.
var own = Range{Oldest: number(oldest), Newest: number(newest)}.valid()

// Own returns what this program understands.
func Own() Range { return own }

// number parses the build's value; 0: it is no number.
func number(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// Parse reads "1-2". Other text yields a range that meets no other.
func Parse(text string) Range {
	first, last, _ := strings.Cut(text, "-")
	return Range{Oldest: max(number(first), First), Newest: number(last)}
}

// valid panics if the build set an invalid range.
func (r Range) valid() Range {
	if r.Oldest < First || r.Newest < r.Oldest {
		panic(fmt.Sprintf("this program was built for the protocols %q to %q", oldest, newest))
	}
	return r
}

// Of returns the announced range; without an announcement it is the first protocol.
func Of(oldest, newest uint32) Range {
	if newest == 0 {
		return Range{First, First}
	}
	return Range{max(oldest, First), newest}
}

// Meet returns the newest version that both understand; ok is false if there is none.
func (r Range) Meet(other Range) (version uint32, ok bool) {
	version = min(r.Newest, other.Newest)
	return version, version >= max(r.Oldest, other.Oldest)
}

// String returns "protocol 2", or "protocols 1 to 2".
func (r Range) String() string {
	if r.Oldest == r.Newest {
		return fmt.Sprintf("protocol %d", r.Newest)
	}
	return fmt.Sprintf("protocols %d to %d", r.Oldest, r.Newest)
}

// Party is one side of a connection: what it is called ("the agent"), its build, and what it
// understands.
type Party struct {
	Name, Build string
	Range       Range
}

// Mismatch returns the sentence for two whose ranges do not meet: which is too old, and what to do.
func Mismatch(a, b Party) string {
	if a.Range.Newest > b.Range.Newest {
		a, b = b, a
	}
	return fmt.Sprintf("%s is too old: its version %s understands %s, and %s, version %s, at least protocol %d; upgrade %s",
		a.Name, a.Build, a.Range, b.Name, b.Build, b.Range.Oldest, a.Name)
}
