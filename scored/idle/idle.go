// Package idle decides whether a gang has nothing to do, because all its ranks on all nodes sleep
// until a message comes and none is on its way, and whether anything outside can wake it. It is a
// machine without I/O: reports of nodes and the present instant go in, questions come out.
//
// Nodes check at different instants, so each may find its ranks asleep while a message wakes one
// after the other. As in Mattern's four-counter method (Algorithms for distributed termination
// detection, 1987) there are two collections; the second begins when the first is complete. A node
// whose ranks sleep has an epoch. The epoch changes whenever anything happens there. A rank with an
// unreceived message does not count as asleep. If all epochs are the same in both
// collections, nothing happened anywhere in between, so there was one instant at which all slept
// and nothing was on its way. Then only something outside can make anything happen later.
package idle

import (
	"maps"
	"slices"
	"time"
)

const (
	// answerTime is how long a node may take to answer before all are asked again.
	answerTime = 2 * time.Second
	// FirstExamination is how long a gang is idle before nodes first examine what could wake it:
	// most gangs wake before.
	FirstExamination = 500 * time.Millisecond
	// While something may wake the gang, examinations are repeated after MinAgain, then after
	// twice as long each time, up to MaxAgain. A wake source may go away: standard input ends,
	// another program closes a pipe.
	MinAgain = time.Second
	MaxAgain = 30 * time.Second
	// A gang is deadlocked after StuckExaminations examinations in a row, over StuckFor, that found
	// no wake source. A single one is not enough: a thread between two system calls, or one that
	// was just stopped, does not show what it waits for.
	StuckExaminations = 3
	StuckFor          = 2 * time.Second
)

// Cut is a node's report about its part of the gang.
type Cut struct {
	Asleep     bool
	Epoch      uint64
	Request    uint64 // the question that it answers, 0: none
	Examined   bool   // the node has examined what could wake it
	WakeSource string // what that is, if Examined; empty: nothing
}

// State is the state of a gang.
type State uint8

// States of a gang.
const (
	Awake State = iota
	// Doubtful: all nodes reported that it sleeps; they are asked a second time.
	Doubtful
	// Idle: it sleeps until something outside wakes it.
	Idle
	// Deadlocked: and nothing can.
	Deadlocked
)

// Question is a question to all nodes that Nodes returns; the zero value is none.
type Question struct {
	Request uint64
	Examine bool // also examine what could wake the gang
}

// Gang is one gang, of one job. Make it with New.
type Gang struct {
	cuts         map[string]Cut // by node, of those on which something of it runs
	state        State
	since        int64             // of Idle
	stuck        int64             // when it was first found that nothing can wake it, 0: it was not
	examinations int               // in a row that found this
	pause        time.Duration     // to the next examination
	epochs       map[string]uint64 // of the first collection
	waiting      map[string]bool   // nodes that have not answered
	question     Question
	wakeSource   string // as found by the last examination
	deadline     int64  // 0: none
}

// New makes a gang that runs on the nodes.
func New(nodes []string) *Gang {
	g := &Gang{cuts: make(map[string]Cut), epochs: make(map[string]uint64), waiting: make(map[string]bool)}
	for _, n := range nodes {
		g.cuts[n] = Cut{}
	}
	return g
}

// State returns how the gang is.
func (g *Gang) State() State { return g.state }

// Since returns when it became idle; of no meaning in other states than Idle and Deadlocked.
func (g *Gang) Since() int64 { return g.since }

// WakeSource returns what may wake it, as of the last examination.
func (g *Gang) WakeSource() string { return g.wakeSource }

// Deadline returns when Tick must be called; 0: never.
func (g *Gang) Deadline() int64 { return g.deadline }

// Nodes returns those on which something of the gang runs, sorted.
func (g *Gang) Nodes() []string { return slices.Sorted(maps.Keys(g.cuts)) }

// OnCut handles a node's report.
func (g *Gang) OnCut(node string, c Cut, now int64) Question {
	if _, ok := g.cuts[node]; !ok {
		return Question{}
	}
	g.cuts[node] = c
	if g.state != Awake && (!c.Asleep || c.Epoch != g.epochs[node]) {
		g.wake()
	}
	if g.state == Awake {
		return g.collect(now)
	}
	if c.Request == 0 || c.Request != g.question.Request || g.question.Examine && !c.Examined {
		return Question{}
	}
	delete(g.waiting, node)
	if c.WakeSource != "" {
		g.wakeSource = node + ": " + c.WakeSource
	}
	if len(g.waiting) == 0 {
		g.complete(now)
	}
	return Question{}
}

// OnNodeLost discards a node's reports: the state of its ranks is unknown.
func (g *Gang) OnNodeLost(node string) {
	if _, ok := g.cuts[node]; ok {
		g.cuts[node] = Cut{}
		g.wake()
	}
}

// OnNodeEnded records that nothing of the gang runs on the node any more.
func (g *Gang) OnNodeEnded(node string, now int64) Question {
	if _, ok := g.cuts[node]; !ok {
		return Question{}
	}
	delete(g.cuts, node)
	g.wake() // its end may be what the others wait for
	return g.collect(now)
}

// Tick is due at Deadline. alone: no other job, which could wake it, belongs to the gang.
func (g *Gang) Tick(now int64, alone bool) Question {
	if g.deadline == 0 || now < g.deadline {
		return Question{}
	}
	if g.state == Idle && !alone {
		g.stuck, g.examinations, g.wakeSource, g.deadline = 0, 0, "a job of its family", now+int64(MaxAgain)
		return Question{}
	}
	if g.state == Doubtful {
		return g.ask(now)
	}
	return g.askExamined(now)
}

func (g *Gang) wake() {
	g.state, g.since, g.deadline, g.question.Examine, g.wakeSource = Awake, 0, 0, false, ""
	g.stuck, g.examinations, g.pause = 0, 0, 0
	clear(g.waiting)
}

// collect begins the second collection when the first is complete.
func (g *Gang) collect(now int64) Question {
	for _, c := range g.cuts {
		if !c.Asleep {
			return Question{}
		}
	}
	if len(g.cuts) == 0 {
		return Question{}
	}
	clear(g.epochs)
	for node, c := range g.cuts {
		g.epochs[node] = c.Epoch
	}
	g.state = Doubtful
	return g.ask(now)
}

// ask puts a question to all nodes.
func (g *Gang) ask(now int64) Question {
	g.question = Question{Request: g.question.Request + 1}
	for node := range g.cuts {
		g.waiting[node] = true
	}
	g.deadline = now + int64(answerTime)
	return g.question
}

// askExamined is like ask; the nodes also examine what could wake the gang.
func (g *Gang) askExamined(now int64) Question {
	g.ask(now)
	g.question.Examine, g.wakeSource = true, ""
	return g.question
}

// complete draws the conclusions when all nodes have answered.
func (g *Gang) complete(now int64) {
	switch {
	case g.state == Doubtful:
		g.state, g.since, g.pause = Idle, now, MinAgain
		g.deadline = now + int64(FirstExamination)
	case g.wakeSource != "":
		g.stuck, g.examinations = 0, 0
		g.deadline = now + int64(g.pause)
		g.pause = min(2*g.pause, MaxAgain)
	default:
		g.found(now)
	}
}

// found records that nothing was found that could wake the gang.
func (g *Gang) found(now int64) {
	if g.examinations++; g.examinations == 1 {
		g.stuck = now
	}
	if g.examinations >= StuckExaminations && now-g.stuck >= int64(StuckFor) {
		g.state, g.deadline = Deadlocked, 0
		return
	}
	g.pause = MinAgain
	g.deadline = now + int64(MinAgain)
}
