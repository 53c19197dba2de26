package jobstate

import (
	"fmt"
	"score/tests/pinned"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Unix(1000, 0)

// checker runs a machine and checks after every step what must hold.
type checker struct {
	m       *Machine
	now     time.Time
	counts  map[Effect]int
	effects []Effect // of all steps
	before  Phase
}

func newChecker(config Config) *checker {
	return &checker{m: New(config), now: epoch, counts: make(map[Effect]int)}
}

// step returns the first rule that does not hold.
func (c *checker) step(event Event) ([]Effect, error) {
	c.before = c.m.Phase()
	effects := c.m.Step(c.now, event)
	c.effects = append(c.effects, effects...)
	for _, e := range effects {
		c.counts[e]++
	}
	return effects, c.checkInvariants(effects)
}

// next are the phases that may follow each.
var next = map[Phase][]Phase{
	Claiming:  {Preparing, Clearing, Orphaned},
	Preparing: {Ready, Launched, Orphaned, Clearing},
	Ready:     {Launched, Orphaned, Clearing},
	Launched:  {Orphaned, Clearing},
	Orphaned:  {Clearing},
	Clearing:  {Over},
}

func (c *checker) checkInvariants(effects []Effect) error {
	m := c.m
	once := []Effect{Switch, Unswitch, NoteEnding, ReportDone, End, Retire, ReportLoss, Sweep, ReportKilled, Clear}
	rules := []struct {
		name  string
		holds bool
	}{
		{"phases follow the picture", m.phase == c.before || slices.Contains(next[c.before], m.phase)},
		{"who is forgotten is killed", m.killed || !m.forgotten},
		{"who has retired is forgotten", !m.retired || m.forgotten && m.settled},
		{"Clear begins Clearing", c.counts[Clear] == 1 == (m.phase >= Clearing)},
		{"End begins Over", c.counts[End] == 1 == (m.phase == Over)},
		{"Sweep begins Orphaned", c.counts[Sweep] == 1 == m.lost},
		{"a lost steward is told of", c.counts[ReportLoss] == 1 == (m.lost && !m.goesOn)},
		{"nothing is watched once it is over", m.phase != Over || m.nextAt.IsZero()},
		{"a kill is watched to its end", !m.killed || m.phase == Over || m.exhausted != !m.nextAt.IsZero()},
		{"the end of what was killed is reported", !m.killed || m.phase != Over || m.forgotten ||
			c.counts[ReportDone]+c.counts[RepeatDone] > 0},
		{"nothing is retired while it is swept", !m.retired || m.phase != Orphaned},
		{"a steward is retired last", !slices.Contains(effects, Retire) || effects[len(effects)-1] == Retire},
		{"only a steward kills", m.steward || c.counts[KillSteward]+c.counts[KillQuickly]+c.counts[KillPatiently] == 0},
		{"the switching thread knows only who is not forgotten", !slices.Contains(effects, Switch) || !m.killed},
	}
	for _, e := range once {
		if c.counts[e] > 1 {
			return fmt.Errorf("%v was ordered %d times", e, c.counts[e])
		}
	}
	for _, r := range rules {
		if !r.holds {
			return fmt.Errorf("%s: %+v, so far %v", r.name, *m, c.effects)
		}
	}
	return nil
}

// TestScripts runs the scripts in testdata. A line is an event, "exited RANK", "after DURATION",
// which passes deadlines on the way, or "job" with "recover", "explains" and ranks, which begins.
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/*.txt", runScript) }

func runScript(t *testing.T, text string) string {
	var c *checker
	var out strings.Builder
	last := ""
	step := func(event Event) {
		effects, err := c.step(event)
		if err != nil {
			t.Error(err)
		}
		what := c.m.Phase().String()
		for _, e := range effects {
			what += " " + e.String()
		}
		if event == Tick && what == last {
			return // a kill is tried again and again
		}
		last = what
		fmt.Fprintf(&out, "\t%v %s\n", c.now.Sub(epoch), what)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			continue // what came out last time
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "job":
			config := Config{Recover: slices.Contains(words, "recover"), Explains: slices.Contains(words, "explains")}
			for _, word := range words[1:] {
				if rank, err := strconv.Atoi(word); err == nil {
					config.Ranks = append(config.Ranks, uint32(rank))
				}
			}
			c = newChecker(config)
		case "exited":
			rank, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			c.m.Exited(uint32(rank))
			fmt.Fprintf(&out, "\tleft %v\n", c.m.Left())
		case "after":
			wait, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatal(err)
			}
			until := c.now.Add(wait)
			for at := c.m.Deadline(); !at.IsZero() && !at.After(until); at = c.m.Deadline() {
				c.now = at
				step(Tick)
			}
			c.now = until
		default:
			event := slices.Index(eventNames[:], words[0])
			if event < 0 {
				t.Fatalf("there is no event %q", words[0])
			}
			step(Event(event))
		}
	}
	return out.String()
}

// Whatever happens in whatever order, the rules hold; and the end of a job that is forgotten waits
// for no event from its steward after a bounded time.
func TestRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChecker(Config{
			Ranks:    []uint32{0, 1},
			Recover:  rapid.Bool().Draw(t, "recover"),
			Explains: rapid.Bool().Draw(t, "explains"),
		})
		step := func(event Event) {
			if _, err := c.step(event); err != nil {
				t.Fatal(err)
			}
		}
		sound := func(event Event) bool { // as package nodeagent sends them
			switch event {
			case Claimed, Adopted, Stopped:
				return c.m.phase == Claiming
			case Prepared, Forked, Done, Lost: // also when it is given up: they may be on their way
				return c.m.steward
			case Swept:
				return c.m.phase == Orphaned
			case Cleared:
				return c.m.phase == Clearing
			case Settled:
				return !c.m.settled && (c.m.steward || c.m.phase == Over)
			case Refused, Kill, Forget, Tick:
			}
			return true
		}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			event := Event(rapid.IntRange(0, int(Tick)).Draw(t, "event"))
			if !sound(event) {
				continue
			}
			if at := c.m.Deadline(); event == Tick && !at.IsZero() && rapid.Bool().Draw(t, "due") {
				c.now = at
			}
			step(event)
		}
		step(Forget)
		if !c.m.settled && c.m.phase == Claiming {
			step(Stopped)
		}
		if c.m.phase == Clearing && rapid.Bool().Draw(t, "clears") {
			step(Cleared)
		}
		if !c.m.settled {
			step(Settled)
		}
		begin := c.now
		for at := c.m.Deadline(); !at.IsZero(); at = c.m.Deadline() {
			c.now = at
			step(Tick)
		}
		if took := c.now.Sub(begin); c.m.phase < Orphaned || took > 2*KillTimeout+KillAlone {
			t.Fatalf("after %v it still waits for its steward: %+v", took, *c.m)
		}
		if c.m.phase == Orphaned {
			step(Swept)
			step(Cleared)
		}
		if !c.m.retired {
			t.Fatalf("not given back: %+v", *c.m)
		}
	})
}
