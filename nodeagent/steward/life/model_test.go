package life

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

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
	w.m.Prepared(w.now, false)
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
	choices := []string{"agent-lost", "agent-back", "ending", "kill", "forget", "recycle", "reader", "no-reader", "tick"}
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
	case "ending":
		m.Ending(now)
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
		if rapid.IntRange(0, 9).Draw(t, "ok") > 0 {
			w.m.Prepared(w.now, rapid.Bool().Draw(t, "silent"))
		} else {
			w.m.NotPrepared(w.now)
		}
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
