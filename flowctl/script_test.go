package flowctl

import (
	"fmt"
	"score/tests/pinned"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestScripts runs every file of testdata, each the story of one sender and one
// receiver. Below a line "> INSTANT COMMAND" stands what must come of it.
//
//	> 0us set SETTING VALUE    window N | ackevery N | credits INITIAL/CHUNK | first SEQ
//	> 0us queue N              the process sends N messages
//	> 0us send [N]             the sender transmits what it may, N frames at most
//	> 0us deliver TX...        transmissions reach the receiver (what is never named is lost)
//	> 0us room N               the inbox can take N frames from now on
//	> 0us reply                the receiver's answer, if one is due, is transmitted as a1, a2, ...
//	> 0us take A...            answers reach the sender
//	> 0us away TX              an agent without image answers a transmission
//	> 0us tick                 both machines are ticked
//	> 0us flush | suspend | resume sender|receiver
//	> 0us fail
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/*.txt", runScript) }

// script is a pair and its wire.
type script struct {
	*pair
	out     strings.Builder
	frames  map[Tx]Data
	answers []Answer
}

// runScript returns the script with its output brought up to date.
func runScript(t *testing.T, text string) string {
	s := &script{pair: newPair(t, 0), frames: map[Tx]Data{}}
	s.room = 1000
	return pinned.Commands(text, &s.out, s.state, pinned.At(t, func(after time.Duration, command string, args []string) {
		s.now = epoch + int64(after)
		s.run(command, args)
		s.check()
	}))
}

// run executes a command.
func (s *script) run(command string, args []string) {
	switch command {
	case "set":
		s.set(args[0], args[1])
	case "queue":
		s.s.Queue(s.number(args[0]))
	case "send":
		limit := uint32(1 << 16)
		if len(args) > 0 {
			limit = s.number(args[0])
		}
		s.transmit(limit)
	case "deliver":
		for _, tx := range args {
			s.arrive(s.number(tx))
		}
	case "room":
		s.room = s.number(args[0])
		if s.r.Waits(&s.c) {
			s.r.OnRoom(&s.c, s.now, s.room)
		}
	case "reply":
		if a, due := s.answer(); due {
			s.answers = append(s.answers, a)
			s.printf("a%d %v next %d echo %d room %d", len(s.answers), a.Kind, a.Next, a.Echo, a.Room)
		}
	case "take":
		for _, name := range args {
			n := s.number(strings.TrimPrefix(name, "a"))
			s.printf("released %d", s.take(s.answers[n-1]))
		}
	case "away":
		s.away = Tx(s.number(args[0]))
		s.answers = append(s.answers, Answer{Kind: Away, Echo: s.frames[s.away].Tx})
		s.printf("a%d away", len(s.answers))
	case "tick":
		if s.s.Tick(&s.c, s.now) {
			s.printf("the peer is gone")
		}
		s.r.Tick(&s.c, s.now)
	case "fail":
		s.s.Fail()
	case "flush", "suspend", "resume":
		s.residence(command, args[0])
	default:
		s.t.Fatalf("unknown command %q", command)
	}
}

// set changes a setting before the story begins.
func (s *script) set(name, value string) {
	switch name {
	case "window":
		n := uint16(s.number(value))
		s.c.InitialWindow, s.c.MaxWindow = n, n
		s.c.MinWindow = min(n, s.c.MinWindow)
	case "ackevery":
		s.c.AckEvery = uint16(s.number(value))
	case "credits":
		initial, chunk, _ := strings.Cut(value, "/")
		s.c.Policy = Credits{Initial: uint16(s.number(initial)), Chunk: uint16(s.number(chunk))}
	case "first":
		s.from = Seq(s.number(value))
		s.s.Reset(s.from)
		s.r.Reset(s.from)
	default:
		s.t.Fatalf("unknown setting %q", name)
	}
}

// transmit takes at most limit frames, or an ask.
func (s *script) transmit(limit uint32) {
	for limit > 0 {
		b := s.s.Send(&s.c, s.now, limit)
		if b.Empty() {
			return
		}
		limit -= max(b.Count, 1)
		for i := range max(b.Count, 1) {
			d := b.Data(i)
			what := "data"
			if b.Count == 0 {
				what = "ask"
			}
			if d.Mark&MarkAsk != 0 && b.Count > 0 {
				what = "data, ask"
			}
			if d.Mark&MarkWant != 0 {
				what += ", want"
			}
			s.printf("tx %d: frame %d, %s", d.Tx, d.Seq, what)
			if b.Count == 0 {
				d.Mark |= askOnly
			}
			s.frames[d.Tx] = d
		}
	}
}

// arrive brings a transmission to the receiver.
func (s *script) arrive(tx uint32) {
	d, ok := s.frames[Tx(tx)]
	if !ok {
		s.t.Fatalf("no transmission %d", tx)
	}
	v := s.deliver(d)
	if d.Mark&askOnly == 0 {
		s.printf("tx %d: %v frame %d", tx, v, d.Seq)
	}
}

// residence flushes, suspends or resumes an end.
func (s *script) residence(command, end string) {
	switch command + " " + end {
	case "flush sender":
		s.s.Flush(&s.c, s.now)
	case "flush receiver":
		s.r.Flush()
	case "suspend sender":
		s.s.Suspend(s.now)
	case "suspend receiver":
		s.r.Suspend(s.now)
	case "resume sender":
		if s.s.Resume(&s.c, s.now) {
			s.printf("the peer is gone")
		}
	case "resume receiver":
		s.r.Resume(&s.c, s.now, s.room)
	default:
		s.t.Fatalf("who is to %s: %q?", command, end)
	}
}

// state describes both machines.
func (s *script) state() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"  = sender %v: acked %d, next %d, queued %d, window %d, in flight %d",
		s.s.hold,
		s.s.una,
		s.s.nxt,
		s.s.end,
		s.s.frames(&s.c),
		distance(s.s.echo, s.s.tx),
	)
	for _, f := range []struct {
		flag uint8
		name string
	}{{flagAskDue, "ask due"}, {flagFlushing, "flushing"}, {flagSuspended, "suspended"}, {flagFailed, "failed"}} {
		if s.s.flags&f.flag != 0 {
			fmt.Fprintf(&b, ", %s", f.name)
		}
	}
	fmt.Fprintf(&b, ", deadline %s\n", instant(s.s.Deadline()))
	fmt.Fprintf(&b, "  = receiver %v: next %d, owed %d", s.r.kind, s.r.next, s.r.owed)
	if s.r.Due() {
		b.WriteString(", answer due")
	}
	if s.r.flags&flagLeft != 0 {
		b.WriteString(", away")
	}
	fmt.Fprintf(&b, ", deadline %s\n", instant(s.r.Deadline()))
	return b.String()
}

func instant(at int64) string {
	if at == NoDeadline {
		return "never"
	}
	return time.Duration(at - epoch).String()
}

func (s *script) printf(format string, args ...any) {
	fmt.Fprintf(&s.out, "  "+format+"\n", args...)
}

func (s *script) number(word string) uint32 {
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	return uint32(n)
}
