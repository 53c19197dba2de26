package pmi

import (
	"cmp"
	"fmt"
	"slices"
)

// otherJob holds the known facts about another job that ranks here have named.
type otherJob struct {
	// rankNode and names are as in JobInfo; nil until the answer has come.
	rankNode []int32
	names    []string
	failed   bool
}

func (o *otherJob) placed() bool { return o.rankNode != nil }

// Places describes where another job's ranks are.
type Places struct {
	Job       uint64
	RankNode  []int32
	NodeNames []string
}

// otherJob returns the known facts about another job, and asks for its places the first time.
func (e *Engine) otherJob(job uint64) (*otherJob, error) {
	if o := e.jobs[job]; o != nil {
		return o, nil
	}
	if len(e.jobs) == MaxOtherJobs {
		return nil, fmt.Errorf("%w: the ranks name more than %d other jobs", ErrFull, MaxOtherJobs)
	}
	o := &otherJob{}
	e.jobs[job] = o
	e.emit(Event{Kind: EventPlaces, Job: job})
	return o, nil
}

// Places returns where the ranks of another job are, if that is known.
func (e *Engine) Places(job uint64) (Places, bool) {
	o := e.jobs[job]
	if o == nil || !o.placed() {
		return Places{}, false
	}
	return Places{job, o.rankNode, o.names}, true
}

// AskPlaces holds a rank's request until another job's places are known;
// EventCard answers it, with Of -1.
func (e *Engine) AskPlaces(rank int, tag Tag, job uint64) (Outcome, error) {
	o, err := e.otherJob(job)
	switch {
	case err != nil:
		return 0, err
	case o.failed:
		return Missing, nil
	case o.placed():
		return Found, nil
	}
	if err := e.hold(rank); err != nil {
		return 0, err
	}
	e.wait(fetch{rank: rank, tag: tag, job: job, of: wholeJob})
	return Held, nil
}

// wholeJob stands for all ranks of a job.
const wholeJob = -1

// PlacesResult answers EventPlaces. p has no ranks if the job cannot be found.
func (e *Engine) PlacesResult(p Places) {
	o := e.jobs[p.Job]
	if o == nil || o.placed() {
		return
	}
	if !validPlaces(p) {
		o.failed = true
	} else {
		o.rankNode, o.names = p.RankNode, p.NodeNames
	}
	for _, w := range e.someFetches(func(w *fetch) bool { return w.job == p.Job }) {
		switch {
		case w.of == wholeJob && o.failed:
			e.answerFetch(w, Missing, nil)
		case w.of == wholeJob:
			e.answerFetch(w, Found, nil)
		default:
			e.advanceRemoteFetch(w)
		}
	}
	e.groupsPlaced()
	if o.failed { // it may be asked for again later
		delete(e.jobs, p.Job)
	}
}

func validPlaces(p Places) bool {
	if len(p.RankNode) == 0 || len(p.RankNode) > MaxRanks {
		return false
	}
	for _, node := range p.RankNode {
		if node < 0 || int(node) >= len(p.NodeNames) {
			return false
		}
	}
	return true
}

// someFetches lists the waiting fetches for which is is true, oldest first, so that the order of
// effects does not depend on a map.
func (e *Engine) someFetches(is func(*fetch) bool) []*fetch {
	var some []*fetch
	for _, w := range e.fetches.waiting {
		if is(w) {
			some = append(some, w)
		}
	}
	slices.SortFunc(some, func(x, y *fetch) int { return cmp.Compare(x.id, y.id) })
	return some
}
