package match

import (
	"fmt"
	"score/tests/pinned"
	"strconv"
	"strings"
	"testing"
)

// TestScripts runs every file of testdata. DESIGN.md describes the language.
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/*.txt", runScript) }

// script is a Matcher with names for what is in it.
type script struct {
	Matcher
	t     *testing.T
	out   strings.Builder
	recvs names[Recv]
	msgs  names[Message]
}

// names are the names of receives or messages.
type names[T any] map[string]*T

// get returns what has a name, new if nothing has.
func (n names[T]) get(name string) *T {
	if n[name] == nil {
		n[name] = new(T)
	}
	return n[name]
}

// of returns the name of one.
func (n names[T]) of(one *T) string {
	for name, v := range n {
		if v == one {
			return name
		}
	}
	return "unknown"
}

// runScript returns the script with its output brought up to date.
func runScript(t *testing.T, text string) string {
	s := &script{t: t, recvs: names[Recv]{}, msgs: names[Message]{}}
	return pinned.Commands(text, &s.out, s.state, func(words []string) {
		s.run(words[0], words[1:])
		if err := checkInvariants(&s.Matcher); err != nil {
			t.Fatalf("after %q: %v", words, err)
		}
	})
}

// run executes a command.
func (s *script) run(command string, args []string) {
	switch command {
	case "post":
		s.post(args[0], s.criteria(args[1], args[2]), len(args) > 3)
	case "arrive":
		s.arrive(args[0], s.number(args[1], 32), s.number(args[2], 64))
	case "peek":
		s.found(s.Peek(s.criteria(args[0], args[1])))
	case "claim":
		s.found(s.Claim(s.criteria(args[0], args[1])))
	case "remove":
		s.printf("%s", word(s.Remove(s.msgs.get(args[0])), "removed", "not held"))
	case "cancel":
		s.printf("%s", word(s.Cancel(s.recvs.get(args[0])), "cancelled", "not posted"))
	case "gone":
		s.gone(uint32(s.number(args[0], 32)))
	default:
		s.t.Fatalf("unknown command %q", command)
	}
}

// post posts a receive.
func (s *script) post(name string, c Criteria, multi bool) {
	r := s.recvs.get(name)
	r.Criteria, r.Multi = c, multi
	if u := s.Post(r); u != nil {
		s.printf("takes %s", s.msgs.of(u))
		return
	}
	s.printf("posted")
}

// arrive lets a message arrive, and holds it if no receive matches.
func (s *script) arrive(name string, source, tag uint64) {
	if r := s.Arrive(uint32(source), tag); r != nil {
		s.printf("taken by %s", s.recvs.of(r))
		return
	}
	u := s.msgs.get(name)
	u.Source, u.Tag = uint32(source), tag
	s.Hold(u)
	s.printf("held")
}

// found prints the result of a search.
func (s *script) found(u *Message) {
	if u == nil {
		s.printf("none")
		return
	}
	s.printf("%s", s.msgs.of(u))
}

// gone cancels the receives that name a source and removes the messages from it.
func (s *script) gone(source uint32) {
	for r := range s.AllPosted() {
		if r.Source == source {
			s.printf("%s %s", s.recvs.of(r), word(s.Cancel(r), "cancelled", "not posted"))
		}
	}
	for u := range s.AllHeld() {
		if u.Source == source {
			s.printf("%s %s", s.msgs.of(u), word(s.Remove(u), "removed", "not held"))
		}
	}
}

// criteria reads SOURCE and TAG[/IGNORE].
func (s *script) criteria(source, tag string) Criteria {
	c := Criteria{Source: AnySource}
	if source != "any" {
		c.Source = uint32(s.number(source, 32))
	}
	tag, ignore, masked := strings.Cut(tag, "/")
	c.Tag = s.number(tag, 64)
	if masked {
		c.Ignore = s.number(ignore, 64)
	}
	return c
}

// number reads a number of size bits.
func (s *script) number(word string, size int) uint64 {
	n, err := strconv.ParseUint(word, 0, size)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// state returns the line that lists what is posted and held.
func (s *script) state() string {
	var b strings.Builder
	b.WriteString("  = posted:")
	for r := range s.AllPosted() {
		b.WriteString(" " + s.recvs.of(r))
	}
	b.WriteString("; held:")
	for u := range s.AllHeld() {
		b.WriteString(" " + s.msgs.of(u))
	}
	return b.String() + "\n"
}

// printf prints a line of output.
func (s *script) printf(format string, args ...any) {
	fmt.Fprintf(&s.out, "  "+format+"\n", args...)
}

// word returns yes if it is so, otherwise no.
func word(so bool, yes, no string) string {
	if so {
		return yes
	}
	return no
}
