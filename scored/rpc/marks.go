package rpc

import (
	"score/scored/api/scorev1"
	"score/scored/leader"
	"slices"
	"sync"
)

// marks holds the progress of an attachment's sources.
type marks struct {
	confirms bool
	mu       sync.Mutex
	progress map[sourceKey]*outputProgress
	had      map[sourceKey]uint64 // what the client has from an earlier attachment
}

func newMarks(open *scorev1.AttachRequest_Open) *marks {
	m := &marks{confirms: open.GetConfirms(), progress: map[sourceKey]*outputProgress{}, had: map[sourceKey]uint64{}}
	for _, mark := range open.GetHave() {
		m.had[sourceKeyOf(mark)] = mark.GetSequence()
	}
	return m
}

// progressOf returns the progress of a source. A new source starts where the client's last
// attachment ended.
func (m *marks) progressOf(source *leader.Source) *outputProgress {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := sourceKey{source.Job, source.Attempt, source.Index}
	p := m.progress[at]
	if p == nil {
		p = &outputProgress{
			confirms:  m.confirms,
			shown:     make(chan uint64, 1),
			pacing:    pacing{checkDue: make(chan struct{}, 1)},
			last:      m.had[at],
			confirmed: m.had[at],
			changed:   make(chan struct{}),
		}
		m.progress[at] = p
	}
	p.move(source.Address)
	return p
}

// before reports whether the client has output of earlier attempts of a job, but none of this one.
func (m *marks) before(job uint64, attempt uint32) bool {
	earlier := false
	for at := range m.had {
		if at.job == job && at.attempt >= attempt {
			return false
		}
		earlier = earlier || at.job == job
	}
	return earlier
}

// confirm records what the client has shown. It ignores marks beyond what was sent.
func (m *marks) confirm(marks []*scorev1.OutputMark) {
	for _, mark := range marks {
		m.mu.Lock()
		p := m.progress[sourceKeyOf(mark)]
		m.mu.Unlock()
		if p != nil && p.mayBeShown(mark.GetSequence()) {
			p.confirm(mark.GetSequence())
			p.mu.Lock()
			p.setConfirmed(mark.GetSequence())
			p.mu.Unlock()
		}
	}
}

// attached holds all attachments by job.
type attached struct {
	mu  sync.Mutex
	all map[uint64][]attachedMarks
}

type attachedMarks struct {
	*marks
	uid uint32
}

func newAttached() *attached { return &attached{all: map[uint64][]attachedMarks{}} }

func (a *attached) add(job uint64, m *marks, by leader.Caller) (remove func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[job] = append(a.all[job], attachedMarks{m, by.UID})
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all[job] = slices.DeleteFunc(a.all[job], func(other attachedMarks) bool { return other.marks == m })
		if len(a.all[job]) == 0 {
			delete(a.all, job)
		}
	}
}

// of returns a user's attachments to a job.
func (a *attached) of(job uint64, uid uint32) (found []*marks) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.all[job] {
		if m.uid == uid {
			found = append(found, m.marks)
		}
	}
	return found
}
