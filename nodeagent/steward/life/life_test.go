package life

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const grace = 30 * time.Second

var epoch = time.Unix(1000, 0)

func at(d time.Duration) time.Time { return epoch.Add(d) }

// kinds takes the orders and names them, with the rank where there is one.
func kinds(m *Machine) []string {
	var names []string
	for _, o := range m.Take() {
		switch o.Kind {
		case ReportExit:
			names = append(names, fmt.Sprintf("%v %d", o.Kind, o.Rank))
		case Respawn:
			names = append(names, fmt.Sprintf("%v %d %d", o.Kind, o.Rank, o.Incarnation))
		case ReportAbort:
			names = append(names, fmt.Sprintf("%v %d %d %s", o.Kind, o.Abort.Rank, o.Abort.ExitCode, o.Abort.Message))
		default:
			names = append(names, o.Kind.String())
		}
	}
	return names
}

func expect(t *testing.T, m *Machine, want ...string) {
	t.Helper()
	if got := kinds(m); !slices.Equal(got, want) {
		t.Fatalf("orders %q, want %q", got, want)
	}
}

// ready is a machine with an agent and a job that is Ready.
func ready(rules Rules) *Machine {
	m := New(epoch, Config{Grace: grace})
	m.AgentBack(epoch)
	m.Prepare(epoch, rules)
	m.Prepared(epoch, true, rules.Silent)
	return m
}

// running is a machine whose ranks all run.
func running(t *testing.T, rules Rules) *Machine {
	t.Helper()
	m := ready(rules)
	m.Launch(epoch)
	expect(t, m, "start")
	for k := range rules.Ranks {
		m.Started(epoch, k)
	}
	m.StartEnded(epoch)
	expect(t, m, "report-launched")
	return m
}

func TestCleanEnd(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Exited(epoch, 1, Exit{})
	expect(t, m, "report-exit 1")
	m.Exited(epoch, 0, Exit{Code: 3}) // others go on after a bad exit, and none is left
	expect(t, m, "report-exit 0", "sweep")
	m.Swept(epoch)
	expect(t, m, "report-done")
	m.Drained(epoch)
	expect(t, m)
	m.Forget(epoch)
	expect(t, m, "leave")
}

func TestRanksMayEndWhileOthersAreForked(t *testing.T) {
	m := ready(Rules{Ranks: 2})
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.Exited(epoch, 0, Exit{})
	expect(t, m, "start", "report-exit 0")
	m.Started(epoch, 1)
	m.Exited(epoch, 1, Exit{})
	expect(t, m, "report-exit 1")
	m.StartEnded(epoch)
	expect(t, m, "report-launched", "sweep")
}

func TestFailureRule(t *testing.T) {
	spoke := func(m *Machine) { m.Spoke(0) }
	finalized := func(m *Machine) { m.Spoke(0); m.Finalized(0) }
	nothing := func(*Machine) {}
	for _, tt := range []struct {
		name   string
		before func(*Machine)
		exit   Exit
		rules  Rules
		ends   bool
		early  bool
	}{
		{"clean", nothing, Exit{}, Rules{}, false, false},
		{"bad exit of a program without PMI", nothing, Exit{Code: 1}, Rules{}, false, false},
		{"bad exit that shall end the gang", nothing, Exit{Code: 1}, Rules{KillOnBadExit: true}, true, false},
		{"signal", nothing, Exit{Signal: 11}, Rules{}, true, false},
		{"signal after finalize", finalized, Exit{Signal: 11}, Rules{}, true, false},
		{"exit before finalize", spoke, Exit{}, Rules{}, true, true},
		{"exit after finalize", finalized, Exit{}, Rules{}, false, false},
		{"bad exit after finalize", finalized, Exit{Code: 2}, Rules{}, false, false},
		{"signal, but others shall go on", nothing, Exit{Signal: 11}, Rules{Recover: true}, false, false},
		{"exit before finalize, but others shall go on", spoke, Exit{}, Rules{Recover: true}, false, true},
		{"out of memory, though others shall go on", nothing, Exit{Signal: 9, OutOfMemory: true}, Rules{Recover: true, Respawn: 3}, true, false},
		{"out of memory", nothing, Exit{Signal: 9, OutOfMemory: true}, Rules{}, true, false},
		{"a shell's command out of memory", nothing, Exit{Code: 137, OutOfMemory: true}, Rules{}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.rules.Ranks = 2
			m := running(t, tt.rules)
			tt.before(m)
			m.Exited(epoch, 0, tt.exit)
			want := []string{"report-exit 0"}
			if tt.ends {
				want = append(want, "kill")
			}
			expect(t, m, want...)
			if _, exit := m.Rank(0); exit.BeforeFinalize != tt.early || exit.ByUs {
				t.Errorf("exit %+v", exit)
			}
		})
	}
}

func TestVictimsAreByUsAndOthersAreNot(t *testing.T) {
	m := running(t, Rules{Ranks: 4})
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.Exited(epoch, 1, Exit{Signal: 9})
	m.Exited(epoch, 2, Exit{Signal: 6}) // it failed by itself, at the same time
	m.Exited(epoch, 3, Exit{Signal: 9, OutOfMemory: true})
	expect(t, m, "report-exit 0", "kill", "report-exit 1", "report-exit 2", "report-exit 3", "sweep")
	for k, want := range []bool{false, true, false, false} {
		if _, exit := m.Rank(k); exit.ByUs != want {
			t.Errorf("rank %d by us: %v, want %v", k, exit.ByUs, want)
		}
	}
}

func TestStartFailureEndsThoseThatRun(t *testing.T) {
	m := ready(Rules{Ranks: 3})
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.StartFailed(epoch, Abort{Rank: 1, ExitCode: 126, Message: "no memory"})
	expect(t, m, "start", "report-abort 1 126 no memory", "kill")
	m.StartEnded(epoch)
	expect(t, m)
	m.Exited(epoch, 0, Exit{Signal: 9})
	expect(t, m, "report-exit 0", "sweep")
}

func TestStartFailureOfTheFirst(t *testing.T) {
	m := ready(Rules{Ranks: 2})
	m.Launch(epoch)
	m.StartFailed(epoch, Abort{Rank: 0, ExitCode: 125, Message: "x"})
	m.StartEnded(epoch)
	expect(t, m, "start", "report-abort 0 125 x", "kill", "sweep")
}

func TestKillInEveryPhase(t *testing.T) {
	t.Run("preparing", func(t *testing.T) {
		m := New(epoch, Config{Grace: grace})
		m.AgentBack(epoch)
		m.Prepare(epoch, Rules{Ranks: 1})
		m.Kill(epoch)
		expect(t, m, "report-done")
		m.Prepared(epoch, true, false)
		m.Launch(epoch)
		expect(t, m)
	})
	t.Run("ready", func(t *testing.T) {
		m := ready(Rules{Ranks: 1})
		m.Kill(epoch)
		m.Kill(epoch)
		expect(t, m, "report-done", "report-done")
	})
	t.Run("starting", func(t *testing.T) {
		m := ready(Rules{Ranks: 3})
		m.Launch(epoch)
		m.Started(epoch, 0)
		m.Kill(epoch)
		m.Started(epoch, 1) // was under way
		expect(t, m, "start", "kill", "kill")
		m.StartEnded(epoch)
		m.Exited(epoch, 0, Exit{Signal: 9})
		m.Exited(epoch, 1, Exit{Signal: 9})
		expect(t, m, "report-exit 0", "report-exit 1", "sweep")
	})
	t.Run("running", func(t *testing.T) {
		m := running(t, Rules{Ranks: 1})
		m.Kill(epoch)
		m.Kill(epoch)
		expect(t, m, "kill")
	})
	t.Run("a failed preparation", func(t *testing.T) {
		m := New(epoch, Config{Grace: grace})
		m.AgentBack(epoch)
		m.Prepare(epoch, Rules{Ranks: 1})
		m.Prepared(epoch, false, false)
		expect(t, m)
		m.Kill(epoch)
		expect(t, m, "report-done")
		m.Forget(epoch)
		expect(t, m, "leave")
	})
}

func TestAbortIsToldOnce(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Abort(epoch, Abort{Rank: 1, ExitCode: 7, Message: "a"})
	m.Abort(epoch, Abort{Rank: 0, ExitCode: 8, Message: "b"})
	expect(t, m, "report-abort 1 7 a", "kill")
}

func TestAbortAfterTheAgentsKillIsNoNews(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Kill(epoch)
	m.Abort(epoch, Abort{Rank: 0, ExitCode: 8, Message: "b"})
	expect(t, m, "kill")
}

func TestConnectionClosedTooEarly(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Spoke(0)
	m.Closed(epoch, 0)
	if d := m.Deadline(); !d.Equal(at(exitAfterClose)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(exitAfterClose - 1))
	expect(t, m)
	m.Tick(at(exitAfterClose))
	expect(t, m, "report-abort 0 1 closed its PMI connection without finalize", "kill")
}

func TestTheExitStatusSaysItBetterThanTheClosing(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Spoke(0)
	m.Closed(epoch, 0)
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.Tick(at(time.Hour))
	expect(t, m, "report-exit 0", "kill")
}

func TestSilenceIsNotedOnce(t *testing.T) {
	m := running(t, Rules{Ranks: 2, Silent: true})
	if d := m.Deadline(); !d.Equal(at(silenceNote)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(silenceNote))
	expect(t, m, "note-silence")
	m.Exited(at(time.Minute), 0, Exit{})
	m.Exited(at(time.Minute), 1, Exit{})
	expect(t, m, "report-exit 0", "report-exit 1", "sweep")

	m = running(t, Rules{Ranks: 1, Silent: true})
	m.Exited(epoch, 0, Exit{})
	expect(t, m, "report-exit 0", "note-silence", "sweep")

	m = running(t, Rules{Ranks: 1, Silent: true})
	m.Spoke(0)
	m.Tick(at(silenceNote))
	expect(t, m)
}

func TestAgentLost(t *testing.T) {
	m := running(t, Rules{Ranks: 1})
	m.AgentLost(epoch)
	if d := m.Deadline(); !d.Equal(at(grace)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(grace - 1))
	expect(t, m)
	m.AgentBack(at(grace - 1))
	m.Tick(at(time.Hour))
	expect(t, m)

	m.AgentLost(at(time.Hour))
	m.Tick(at(time.Hour + grace))
	expect(t, m, "kill")
	m.Exited(at(2*time.Hour), 0, Exit{Signal: 9})
	m.Swept(at(2 * time.Hour))
	m.Tick(at(2 * time.Hour))
	expect(t, m, "report-exit 0", "sweep", "report-done", "leave")
}

func TestNoGraceEndsAtOnce(t *testing.T) {
	m := New(epoch, Config{})
	m.Tick(at(firstContact - 1))
	expect(t, m) // even then the agent has time to connect
	m.AgentBack(epoch)
	m.AgentLost(epoch)
	expect(t, m, "leave")
}

func TestNobodyEverConnects(t *testing.T) {
	m := New(epoch, Config{Grace: time.Second})
	if d := m.Deadline(); !d.Equal(at(firstContact)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(firstContact))
	expect(t, m, "leave")
}

func TestLeaving(t *testing.T) {
	over := func(rules Rules) *Machine {
		m := running(t, rules)
		m.Exited(epoch, 0, Exit{})
		m.Swept(epoch)
		kinds(m)
		return m
	}
	rules := Rules{Ranks: 1}
	t.Run("a reader may still come", func(t *testing.T) {
		m := over(rules)
		m.Forget(epoch)
		m.Tick(at(drainLinger - 1))
		expect(t, m)
		m.Tick(at(drainLinger))
		expect(t, m, "leave")
	})
	t.Run("a slow reader has all its time", func(t *testing.T) {
		m := over(rules)
		m.Reader(epoch, true)
		m.Forget(epoch)
		m.Tick(at(24 * time.Hour))
		expect(t, m)
		if !m.Deadline().IsZero() {
			t.Error("has a deadline")
		}
		m.Drained(at(25 * time.Hour))
		expect(t, m, "leave")
	})
	t.Run("a reader that hangs up may be followed by another", func(t *testing.T) {
		m := over(rules)
		m.Reader(epoch, true)
		m.Forget(epoch)
		m.Reader(at(time.Hour), false)
		expect(t, m)
		m.Tick(at(time.Hour + drainLinger))
		expect(t, m, "leave")
	})
	t.Run("detached output is owed to nobody", func(t *testing.T) {
		m := over(Rules{Ranks: 1, Detached: true})
		m.Forget(epoch)
		expect(t, m, "leave")
	})
	t.Run("the order to forget never comes", func(t *testing.T) {
		m := over(rules)
		m.Drained(epoch)
		expect(t, m)
		m.Tick(at(forgetWait))
		expect(t, m, "leave")
	})
	t.Run("forgotten while it runs", func(t *testing.T) {
		m := running(t, rules)
		m.Forget(epoch)
		expect(t, m, "kill")
	})
	t.Run("forgotten while free", func(t *testing.T) {
		m := New(epoch, Config{Grace: grace})
		m.AgentBack(epoch)
		m.Forget(epoch)
		expect(t, m, "leave")
	})
}

func TestASecondJobIsRefused(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	if m.Prepare(epoch, Rules{Ranks: 5}) {
		t.Fatal("took a second job")
	}
	if s, _ := m.Rank(0); s != Unborn {
		t.Fatal("the first job changed")
	}
}

func TestNames(t *testing.T) {
	for p := Free; p <= Gone; p++ {
		if p.String() == "" {
			t.Errorf("phase %d has no name", p)
		}
	}
	for k := Start; k <= Leave; k++ {
		if k.String() == "" {
			t.Errorf("order %d has no name", k)
		}
	}
}

// world carries out the orders of a machine, as slowly and oddly as it likes.
type world struct {
	t          *rapid.T
	m          *Machine
	now        time.Time
	starting   bool
	ranks      int          // of each job
	next       int          // rank to fork
	living     map[int]bool // forked, not reaped
	respawning map[int]bool // to be forked once more
	doomed     bool         // all living ranks were killed
	sweeping   bool
	exits      map[int]int
	done       int
	renewing   bool
	left       bool
}

func (w *world) obey() {
	for _, o := range w.m.Take() {
		if w.left {
			w.t.Fatalf("%v after leave", o.Kind)
		}
		switch o.Kind {
		case Start:
			if w.starting || w.next > 0 {
				w.t.Fatal("started twice")
			}
			w.starting = true
		case Kill:
			w.doomed = true
		case Sweep:
			if len(w.living)+len(w.respawning) > 0 || w.starting {
				w.t.Fatal("swept while ranks live")
			}
			w.sweeping = true
		case ReportExit:
			w.exits[o.Rank]++
		case Respawn:
			if w.living[o.Rank] || w.respawning[o.Rank] || w.starting {
				w.t.Fatal("started again too early")
			}
			w.respawning[o.Rank] = true
		case ReportDone:
			if len(w.living)+len(w.respawning) > 0 || w.starting || w.sweeping {
				w.t.Fatal("done while something is left")
			}
			w.done++
		case Leave:
			if len(w.living)+len(w.respawning) > 0 || w.starting || w.sweeping {
				w.t.Fatal("left while something is left")
			}
			w.left = true
		case Renew:
			if len(w.living)+len(w.respawning) > 0 || w.starting || w.sweeping || w.doomed {
				w.t.Fatal("renewed with something left")
			}
			w.renewing = true
		case ReportFree:
			w.nextJob()
		case ReportLaunched, ReportAbort, NoteSilence:
		}
	}
}

// nextJob checks what the last one was owed, and gives the steward another.
func (w *world) nextJob() {
	w.ended()
	w.next, w.doomed, w.done = 0, false, 0
	clear(w.exits)
	if !w.m.Prepare(w.now, Rules{Ranks: w.ranks}) {
		w.t.Fatal("a free steward takes no job")
	}
	w.m.Prepared(w.now, true, false)
}

// ended checks that the end of all was told.
func (w *world) ended() {
	for k := range w.next {
		if w.exits[k] != 1 {
			w.t.Fatalf("rank %d's end was reported %d times", k, w.exits[k])
		}
	}
	if w.next > 0 && w.done == 0 {
		w.t.Fatal("the end was never reported")
	}
}

func (w *world) someRank() (int, bool) {
	if len(w.living) == 0 {
		return 0, false
	}
	var ks []int
	for k := range w.living {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	return rapid.SampledFrom(ks).Draw(w.t, "rank"), true
}

// bear forks a rank once more, or fails to.
func (w *world) bear(ok bool) {
	for k := range w.ranks {
		if !w.respawning[k] {
			continue
		}
		delete(w.respawning, k)
		if ok {
			w.living[k] = true
			w.m.Respawned(w.now, k)
		} else {
			w.m.RespawnFailed(w.now, k, Abort{Rank: k, ExitCode: 125})
		}
		return
	}
}

// step does one thing that may happen now.
func (w *world) step() {
	m, now := w.m, w.now
	choices := []string{"agent-lost", "agent-back", "kill", "forget", "recycle", "reader", "no-reader", "tick"}
	if w.starting {
		choices = append(choices, "fork", "fork", "fork", "fork-fails")
	}
	if len(w.living) > 0 {
		choices = append(choices, "exit", "exit", "exit", "crash", "spoke", "finalized", "closed", "abort")
	}
	if len(w.respawning) > 0 {
		choices = append(choices, "reborn", "reborn", "not-reborn")
	}
	if w.sweeping {
		choices = append(choices, "swept", "swept", "swept")
	}
	if m.Phase() == Over && !w.left {
		choices = append(choices, "drained")
	}
	if w.renewing {
		choices = append(choices, "renewed", "renewed", "renewed", "spoilt")
	}
	choices = append(choices, "launch")
	k, _ := w.someRank()
	switch c := rapid.SampledFrom(choices).Draw(w.t, "event"); c {
	case "agent-lost":
		m.AgentLost(now)
	case "agent-back":
		m.AgentBack(now)
	case "kill":
		m.Kill(now)
	case "forget":
		m.Forget(now)
	case "recycle":
		m.Recycle(now)
	case "renewed", "spoilt":
		w.renewing = false
		m.Renewed(now, c == "renewed")
	case "reader", "no-reader":
		m.Reader(now, c == "reader")
	case "tick":
		w.now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(w.t, "s")) * time.Second)
		m.Tick(w.now)
	case "launch":
		m.Launch(now)
	case "fork":
		w.living[w.next] = true
		m.Started(now, w.next)
		if w.next++; w.next == w.ranks {
			w.starting = false
			m.StartEnded(now)
		}
	case "fork-fails":
		m.StartFailed(now, Abort{Rank: w.next, ExitCode: 125})
		w.starting = false
		m.StartEnded(now)
	case "exit", "crash":
		delete(w.living, k)
		exit := Exit{Code: k & 1}
		if c == "crash" || w.doomed {
			exit = Exit{Signal: 9}
		}
		m.Exited(now, k, exit)
	case "reborn", "not-reborn":
		w.bear(c == "reborn")
	case "spoke":
		m.Spoke(k)
	case "finalized":
		m.Spoke(k)
		m.Finalized(k)
	case "closed":
		m.Closed(now, k)
	case "abort":
		m.Abort(now, Abort{Rank: k, ExitCode: 3})
	case "swept":
		w.sweeping = false
		m.Swept(now)
	case "drained":
		m.Drained(now)
	}
}

// finish lets everything that was ordered happen, and time pass, until the
// steward leaves: whatever came before, it must.
func (w *world) finish() {
	w.m.AgentLost(w.now)
	for i := 0; !w.left; i++ {
		if i > 10*w.ranks+20 {
			w.t.Fatalf("does not come to an end in phase %v", w.m.Phase())
		}
		w.obey()
		if w.starting {
			w.starting = false
			w.m.StartEnded(w.now)
		}
		w.obey()
		w.bear(false)
		w.obey()
		for k := range w.living {
			if !w.doomed {
				break
			}
			delete(w.living, k)
			w.m.Exited(w.now, k, Exit{Signal: 9})
		}
		w.obey()
		if w.sweeping {
			w.sweeping = false
			w.m.Swept(w.now)
		}
		if w.renewing {
			w.renewing = false
			w.m.Renewed(w.now, true)
		}
		w.obey()
		if next := w.m.Deadline(); next.After(w.now) {
			w.now = next
		}
		w.m.Tick(w.now)
		w.obey()
	}
}

func TestAnyHistoryEndsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		w := &world{t: t, now: epoch, ranks: ranks, living: map[int]bool{}, respawning: map[int]bool{}, exits: map[int]int{}}
		w.m = New(w.now, Config{Grace: grace})
		w.m.AgentBack(w.now)
		w.m.Prepare(w.now, Rules{
			Ranks:         ranks,
			KillOnBadExit: rapid.Bool().Draw(t, "kill-on-bad-exit"),
			Detached:      rapid.Bool().Draw(t, "detached"),
			Recover:       rapid.Bool().Draw(t, "recover"),
			Respawn:       rapid.IntRange(0, 3).Draw(t, "respawn"),
		})
		w.m.Prepared(w.now, rapid.IntRange(0, 9).Draw(t, "ok") > 0, rapid.Bool().Draw(t, "silent"))
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if w.left {
				break
			}
			w.step()
			w.obey()
		}
		if !w.left {
			w.finish()
		}
		w.ended()
		if w.m.Phase() != Gone {
			t.Fatalf("left in phase %v", w.m.Phase())
		}
	})
}
