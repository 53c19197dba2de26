package pull

import (
	"fmt"
	"score/tests/pinned"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestScripts runs every file of testdata, each the story of one reader and its owners. Below a
// line "> INSTANT COMMAND" stands what must come of it. Transfers are named p1, p2, ... as they
// begin, frames f1, f2, ... as they are sent.
//
//	> 0us set SETTING VALUE     window N | least N | piece N | grace DURATION | stall DURATION
//	> 0us start LENGTH          a transfer begins
//	> 0us ask [N]               the reader asks for what it may, N pieces at most
//	> 0us serve P FRAME         the owner sends the oldest piece that it was asked for, in such frames
//	> 0us deliver F...          frames reach the reader (what is never named is lost)
//	> 0us probe                 the reader probes what it is in doubt about
//	> 0us sent P                the reader hears that the oldest piece that it probed was sent
//	> 0us frame P AT N          a frame that nobody sent
//	> 0us say P AT N            a word that no owner says
//	> 0us stop P | recycle P
//	> 0us tick
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/*.txt", runScript) }

// script is a reader with what its owners were asked.
type script struct {
	*Reader
	t     *testing.T
	now   int64
	out   strings.Builder
	pulls []*Pull
	asked [][]frame // by transfer
	wire  []frame

	probed [][]frame // by transfer; their owners have not answered
}

// runScript returns the script with its output brought up to date.
func runScript(t *testing.T, text string) string {
	s := &script{Reader: New(small()), t: t}
	return pinned.Commands(text, &s.out, s.state, pinned.At(t, func(after time.Duration, command string, args []string) {
		s.now = int64(after)
		s.run(command, args)
	}))
}

// run executes a command.
func (s *script) run(command string, args []string) {
	switch command {
	case "set":
		s.set(args[0], args[1])
	case "start":
		id := len(s.pulls)
		s.pulls = append(s.pulls, s.Start(uint32(id), s.number(args[0])))
		s.asked, s.probed = append(s.asked, nil), append(s.probed, nil)
	case "ask":
		limit := uint64(MaxPieces * 100)
		if len(args) > 0 {
			limit = s.number(args[0])
		}
		s.ask(limit)
	case "serve":
		s.serve(s.pull(args[0]), s.number(args[1]))
	case "deliver":
		for _, name := range args {
			f := s.wire[s.number(strings.TrimPrefix(name, "f"))-1]
			s.deliver(name, f)
		}
	case "probe":
		for p, at, n, ok := s.Probe(); ok; p, at, n, ok = s.Probe() {
			s.Probed()
			s.probed[p.ID] = append(s.probed[p.ID], frame{int(p.ID), at, n})
			s.printf("p%d: %s sent?", p.ID+1, span{at, at + n})
		}
	case "sent":
		id := s.pull(args[0])
		f := s.probed[id][0]
		s.probed[id] = s.probed[id][1:]
		s.Sent(s.now, s.pulls[f.id], f.at, f.n)
	case "frame":
		s.deliver("it", frame{s.pull(args[0]), s.number(args[1]), s.number(args[2])})
	case "say":
		s.Sent(s.now, s.pulls[s.pull(args[0])], s.number(args[1]), s.number(args[2]))
	case "stop":
		s.Stop(s.pulls[s.pull(args[0])])
	case "recycle":
		s.Recycle(s.pulls[s.pull(args[0])])
	case "tick":
		s.Tick(s.now)
	default:
		s.t.Fatalf("unknown command %q", command)
	}
}

// set changes a setting before the story begins.
func (s *script) set(name, value string) {
	c := s.c
	switch name {
	case "window":
		c.Window = int(s.number(value))
	case "least":
		c.MinWindow = int(s.number(value))
	case "piece":
		c.Piece = int(s.number(value))
	case "grace", "stall":
		d, err := time.ParseDuration(value)
		if err != nil {
			s.t.Fatal(err)
		}
		if name == "grace" {
			c.Grace = d
		} else {
			c.Stall = d
		}
	default:
		s.t.Fatalf("unknown setting %q", name)
	}
	s.Reader = New(c)
}

func (s *script) ask(limit uint64) {
	for range limit {
		p, at, n, ok := s.Next()
		if !ok {
			return
		}
		s.Asked(s.now)
		s.asked[p.ID] = append(s.asked[p.ID], frame{int(p.ID), at, n})
		s.printf("p%d: %s", p.ID+1, span{at, at + n})
	}
}

// serve sends the oldest piece that was asked for of a transfer.
func (s *script) serve(id int, limit uint64) {
	f := s.asked[id][0]
	s.asked[id] = s.asked[id][1:]
	o, ok := Serve(s.pulls[id].length, f.at, f.n)
	if !ok {
		s.t.Fatalf("p%d has no %s", id+1, span{f.at, f.at + f.n})
	}
	for at, n, more := o.Next(limit); more; at, n, more = o.Next(limit) {
		s.wire = append(s.wire, frame{id, at, n})
		s.printf("f%d: p%d %s", len(s.wire), id+1, span{at, at + n})
		o.Passed(n)
	}
}

func (s *script) deliver(name string, f frame) {
	p := s.pulls[f.id]
	if !p.Expects(f.at, f.n) {
		s.printf("%s is not expected", name)
		return
	}
	s.Took(s.now, p, f.at, f.n)
	if p.Done() {
		s.printf("p%d is done", f.id+1)
	}
}

// state describes the reader and its transfers.
func (s *script) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  = %d of %d under way, deadline %s\n", s.Reader.out, s.window, instant(s.Deadline()))
	for i, p := range s.pulls {
		fmt.Fprintf(&b, "  = p%d: %d missing", i+1, p.left)
		if p.stopped {
			b.WriteString(", stopped")
		}
		if p.Settled() {
			b.WriteString(", settled")
		}
		for _, again := range p.again {
			fmt.Fprintf(&b, ", again %s", again)
		}
		for j := range p.pieces {
			b.WriteString("; " + p.pieces[j].String())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// String describes a piece.
func (c *piece) String() string {
	text := fmt.Sprintf("%s lacks %d", c.span, c.left)
	switch {
	case c.sent:
		text += " sent"
	case c.probe == probeDue:
		text += " in doubt"
	case c.probe == probeSent:
		text += " probed"
	}
	if !c.counted {
		text += " uncounted"
	}
	return text
}

func (s span) String() string { return fmt.Sprintf("%d-%d", s.from, s.to) }

func instant(at int64) string {
	if at == NoDeadline {
		return "never"
	}
	return time.Duration(at).String()
}

func (s *script) printf(format string, args ...any) {
	fmt.Fprintf(&s.out, "  "+format+"\n", args...)
}

// pull is the number of the transfer of a name.
func (s *script) pull(name string) int { return int(s.number(strings.TrimPrefix(name, "p"))) - 1 }

func (s *script) number(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
