package ctxswitch

import (
	"fmt"
	"score/tests/pinned"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestScripts runs every file of testdata. A line "> INSTANT EVENT" is told to
// the machine; the lines below it are what must come of it. Instants are local,
// counted from one second, so that none is 0.
//
//	> 0ms offset TERM=OFFSET
//	> 0ms plan TERM.VERSION ORIGIN SLICE:JOB,JOB SLICE:- ...
//	> 0ms add JOB [CONTEXTS] | adopt JOB running|frozen [CONTEXTS] | launched JOB | respawned JOB | connected JOB [CONTEXTS] | removed JOB
//	> 0ms requeue JOB          removed, and added once more for an attempt that is not planned yet
//	> 0ms done STEP JOB...     answers the last order of that step to each job
//	> 0ms stopped COST JOB...  answers the last order to stop, which has cost so much
//	> 0ms cost COST JOB        says what a stop has cost that is not over
//	> 0ms stale STEP JOB       answers the order before that
//	> 0ms tick
//	> 0ms channels N         begins again, on a node with so many channels
//	> 0ms counts               prints the counters that are not 0
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/*.txt", runScript) }

// scriptEpoch is the local instant of a script's 0ms.
const scriptEpoch = int64(time.Second)

// script is a machine and what was ordered from it.
type script struct {
	t      *testing.T
	m      *Machine
	orders map[string][]Effect // by step and job, the newest last
}

// runScript returns the script with its output brought up to date.
func runScript(t *testing.T, text string) string {
	s := &script{t: t, m: New(Config{}), orders: map[string][]Effect{}}
	var out strings.Builder
	return pinned.Commands(text, &out, nil, func(words []string) { s.run(&out, words) })
}

// run tells one line's events and writes what comes of it.
func (s *script) run(out *strings.Builder, words []string) {
	if words[1] == "channels" {
		s.m = New(Config{Channels: int(s.number(words[2]))})
		return
	}
	if words[1] == "counts" {
		for _, c := range CounterTable {
			if n := s.m.Count(c.ID); n > 0 {
				fmt.Fprintf(out, "  %s %d\n", c.Name, n)
			}
		}
		return
	}
	now := scriptEpoch + s.nanos(words[0])
	for _, ev := range s.events(words[1], words[2:]) {
		for _, e := range s.m.Handle(now, ev) {
			fmt.Fprintf(out, "  %s\n", s.describe(e))
		}
		checkInvariants(s.t, s.m, now)
	}
	fmt.Fprintf(out, "  = %s, next %s\n", s.m.State(), instant(s.m.Deadline()))
}

// events parses what a line tells.
func (s *script) events(verb string, args []string) (evs []Event) {
	switch verb {
	case "tick":
		return []Event{Tick()}
	case "offset":
		term, offset, _ := strings.Cut(args[0], "=")
		return []Event{OffsetChanged(s.number(term), s.nanos(offset))}
	case "plan":
		return []Event{PlanArrived(s.plan(args))}
	case "add":
		return []Event{JobAdded(s.job(args[0]), s.contexts(args[1:]))}
	case "requeue":
		return []Event{JobRemoved(s.job(args[0])), JobAdded(s.job(args[0]), 0).NotPlannedYet()}
	case "adopt":
		return []Event{JobAdopted(s.job(args[0]), s.contexts(args[2:]), args[1] == "frozen")}
	case "launched":
		return []Event{JobLaunched(s.job(args[0]))}
	case "respawned":
		return []Event{JobRespawned(s.job(args[0]))}
	case "connected":
		return []Event{JobConnected(s.job(args[0]), s.contexts(args[1:]))}
	case "removed":
		return []Event{JobRemoved(s.job(args[0]))}
	case "stopped":
		for _, job := range args[1:] {
			orders := s.orders["stop"+job]
			evs = append(evs, Done(orders[len(orders)-1]).Costing(time.Duration(s.nanos(args[0]))))
		}
		return evs
	case "cost":
		return []Event{StopCost(s.job(args[1]), time.Duration(s.nanos(args[0])))}
	case "done", "stale":
		for _, job := range args[1:] {
			orders := s.orders[args[0]+job]
			back := 1
			if verb == "stale" {
				back = 2
			}
			if len(orders) < back {
				s.t.Fatalf("%s %s %s: there was no such order", verb, args[0], job)
			}
			evs = append(evs, Done(orders[len(orders)-back]))
		}
		return evs
	}
	s.t.Fatalf("unknown event %q", verb)
	return nil
}

// plan parses TERM.VERSION ORIGIN SLICE:JOBS...; row indices count from 10.
func (s *script) plan(args []string) *Plan {
	term, version, _ := strings.Cut(args[0], ".")
	p := &Plan{Term: s.number(term), Version: s.number(version), Origin: scriptEpoch + s.nanos(args[1])}
	for i, row := range args[2:] {
		slice, jobs, _ := strings.Cut(row, ":")
		r := Row{Index: 10 + i, Slice: time.Duration(s.nanos(slice))}
		for _, job := range strings.Split(jobs, ",") {
			if job != "-" {
				r.Jobs = append(r.Jobs, s.job(job))
			}
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

// describe prints an effect, and remembers orders that want an answer.
func (s *script) describe(e Effect) string {
	switch e.Kind {
	case EffectRecord:
		return describeRecord(e.Record)
	case EffectWarn:
		return fmt.Sprintf("warn %d: %d late freezes in a row", e.Job, e.Late)
	case EffectCostly:
		return fmt.Sprintf("costly %d: a stop takes %v of a slice of %v", e.Job, e.Cost, e.Slice)
	case EffectLaunch:
		return fmt.Sprintf("launch %d", e.Job)
	default:
		key := e.Step.String() + fmt.Sprint(e.Job)
		s.orders[key] = append(s.orders[key], e)
		return fmt.Sprintf("%s %d by %s", e.Kind, e.Job, instant(e.By))
	}
}

// describeRecord prints a record in one line.
func describeRecord(r *Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "record %d.%d round %d row %d, %s planned %s wake %v",
		r.Term, r.Version, r.Slot.Round, r.Slot.Row, r.Cause, instant(r.Planned), r.Wake())
	if d, ok := r.Total(); ok {
		fmt.Fprintf(&b, " total %v", d)
	}
	for s := Revoke; s <= Go; s++ {
		if d, ran := r.Took(s); ran {
			fmt.Fprintf(&b, " %s=%v", s, d)
		}
		if r.LateSteps.Has(s) {
			b.WriteString("(late)")
		}
	}
	for _, l := range []struct {
		name string
		jobs []JobID
	}{{"out", r.Out}, {"in", r.In}, {"launched", r.Launched}, {"late", r.Late}} {
		if len(l.jobs) > 0 {
			fmt.Fprintf(&b, " %s=%v", l.name, l.jobs)
		}
	}
	if r.Superseded {
		b.WriteString(" superseded")
	}
	return b.String()
}

// instant prints a local instant as a script counts it.
func instant(t int64) string {
	if t == Never {
		return "never"
	}
	return time.Duration(t - scriptEpoch).String()
}

func (s *script) nanos(text string) int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return int64(d)
}

func (s *script) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) job(text string) JobID { return JobID(s.number(text)) }

func (s *script) contexts(args []string) int {
	if len(args) == 0 {
		return 0
	}
	return int(s.number(args[0]))
}
