package names

import (
	"container/list"
	"errors"
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/state"
)

// Asker is the rank that sends a request.
type Asker struct {
	Node string
	UID  uint32
	// Placed: its job has places. The ranks of a job that has lost its places may still ask.
	Placed bool
}

// Outcome is what follows from a request. All changes come before all answers: an answer tells what
// is in the log.
type Outcome struct {
	Changes []Change
	Answers []Answer
}

// Change is a name that is published or removed.
type Change struct {
	Gone    bool
	Job     uint64 // that published it
	Service string
	Port    string
	Once    bool
	By      state.NameRequest // why
}

// Answer is a reply for a node.
type Answer struct {
	Node  string
	Reply *agentpb.NameReply
}

func (o *Outcome) answer(node string, reply *agentpb.NameReply) {
	o.Answers = append(o.Answers, Answer{node, reply})
}

// Handle publishes, finds or removes a name for a rank. A lookup that waits has no answer yet.
func (t *Table) Handle(from Asker, m *agentpb.NameRequest) (o Outcome) {
	var j *job
	if from.Placed {
		j = t.job(m.GetJobId(), from.UID)
	}
	by := state.NameRequest{Job: m.GetJobId(), Node: from.Node, Number: m.GetRequest()}
	if kept := j.kept(by); kept != nil {
		o.answer(from.Node, kept)
		return o
	}
	k := key{from.UID, m.GetService()}
	if awaited, waits := j.awaits(by); waits {
		if awaited == k && t.waitsFor(k, m) {
			return o // it was repeated, and keeps its turn
		}
		t.stopWaiting(j, by) // answered now, or another request has its number: it gets one answer
	}
	reply, keep := t.perform(&o, j, k, by, m)
	if reply == nil {
		return o
	}
	if keep && reply.GetOk() {
		j.keep(from.Node, reply)
	}
	o.answer(from.Node, reply)
	if m.GetOp() == agentpb.NameOp_NAME_OP_PUBLISH && reply.GetOk() {
		t.answerWaiting(&o, k)
	}
	return o
}

// perform carries out a request, and returns the reply; nil: it is a lookup that waits. keep
// reports whether a reply that grants the request must be kept: if the request is repeated, the
// table no longer shows that it was granted.
func (t *Table) perform(o *Outcome, j *job, k key, by state.NameRequest, m *agentpb.NameRequest) (reply *agentpb.NameReply, keep bool) {
	reply = &agentpb.NameReply{JobId: by.Job, Request: by.Number}
	switch m.GetOp() {
	case agentpb.NameOp_NAME_OP_LOOKUP:
		if found, ok := t.names[k]; ok {
			reply.Port, reply.Ok = found.port, true
			t.readOnce(o, k, by)
			return reply, found.once
		}
		if !m.GetWait() {
			break
		}
		err := t.wait(j, k, by)
		if err == nil {
			return nil, false
		}
		reply.Error = err.Error()
	case agentpb.NameOp_NAME_OP_PUBLISH:
		err := t.publish(o, j, k, name{m.GetPort(), by.Job, m.GetOnce(), by})
		reply.Ok = err == nil
		if err != nil && !errors.Is(err, errTaken) {
			reply.Error = err.Error()
		}
		return reply, m.GetOnce()
	case agentpb.NameOp_NAME_OP_UNPUBLISH:
		reply.Ok = t.unpublish(o, by.Job, k, by)
		return reply, true
	case agentpb.NameOp_NAME_OP_UNSPECIFIED:
	}
	return reply, false // not granted
}

// publish publishes a name. A repeated request is granted again, since an agent may have lost the
// answer.
func (t *Table) publish(o *Outcome, j *job, k key, wanted name) error {
	if old, taken := t.names[k]; taken {
		if old.by == (state.NameRequest{}) {
			old.by = wanted.by
		}
		if old != wanted {
			return errTaken
		}
		return nil
	}
	if err := j.mayPublish(k, wanted); err != nil {
		return err
	}
	j.names[k.service] = true
	j.count(wanted.bytes(k.service))
	t.names[k] = wanted
	o.Changes = append(o.Changes, Change{Job: j.id, Service: k.service, Port: wanted.port, Once: wanted.once, By: wanted.by})
	return nil
}

// mayPublish returns an error if a name exceeds a bound, or if its job is ending.
func (j *job) mayPublish(k key, wanted name) error {
	switch {
	case j == nil:
		return errEnding
	case k.service == "" || len(k.service) > MaxService:
		return fmt.Errorf("a name has 1 to %d bytes, not %d", MaxService, len(k.service))
	case len(wanted.port) > MaxPort:
		return fmt.Errorf("%d bytes are published under one name, the most is %d", len(wanted.port), MaxPort)
	case len(j.names) >= state.MaxNamesPerJob:
		return fmt.Errorf("the job has published %d names, the most that it may; unpublish some", len(j.names))
	case j.of.Bytes+wanted.bytes(k.service) > MaxBytesOfOne:
		return fmt.Errorf("what your jobs have published is all of the %d MiB that it may be; unpublish some names", MaxBytesOfOne>>20)
	}
	return nil
}

// unpublish removes a name that the job has published, and reports whether there is one.
func (t *Table) unpublish(o *Outcome, id uint64, k key, by state.NameRequest) bool {
	n, ok := t.names[k]
	if !ok || n.job != id {
		return false
	}
	j := t.jobs[id]
	delete(j.names, k.service)
	j.count(-n.bytes(k.service))
	delete(t.names, k)
	o.Changes = append(o.Changes, Change{Gone: true, Job: id, Service: k.service, By: by})
	return true
}

// readOnce removes a name after a lookup, if it was published to be read once.
func (t *Table) readOnce(o *Outcome, k key, by state.NameRequest) {
	if found := t.names[k]; found.once {
		t.unpublish(o, found.job, k, by)
	}
}

// wait queues a lookup. An agent that has lost its stream asks again.
func (t *Table) wait(j *job, k key, by state.NameRequest) error {
	if j == nil {
		return errEnding
	}
	if len(j.lookups) >= MaxLookups || j.of.Lookups >= MaxLookupsOfOne {
		return fmt.Errorf("%d lookups of your jobs, %d of this one, wait for names; no more can", j.of.Lookups, len(j.lookups))
	}
	if t.waiting[k] == nil {
		t.waiting[k] = list.New()
	}
	j.lookups[by] = t.waiting[k].PushBack(lookup{k, by})
	j.of.Lookups++
	return nil
}

// waitsFor reports whether a request is a lookup that waits for the name.
func (t *Table) waitsFor(k key, m *agentpb.NameRequest) bool {
	_, published := t.names[k]
	return m.GetOp() == agentpb.NameOp_NAME_OP_LOOKUP && m.GetWait() && !published
}

// awaits returns the name for which a lookup waits, if it does.
func (j *job) awaits(by state.NameRequest) (k key, waits bool) {
	if j == nil {
		return key{}, false
	}
	e, waits := j.lookups[by]
	if !waits {
		return key{}, false
	}
	return e.Value.(lookup).key, true
}

// stopWaiting forgets a lookup that waits.
func (t *Table) stopWaiting(j *job, by state.NameRequest) {
	e := j.lookups[by]
	k := e.Value.(lookup).key
	delete(j.lookups, by)
	j.of.Lookups--
	if t.waiting[k].Remove(e); t.waiting[k].Len() == 0 {
		delete(t.waiting, k)
	}
}

// answerWaiting answers the lookups that wait for a published name. A name that can be read once
// goes to the first of them.
func (t *Table) answerWaiting(o *Outcome, k key) {
	waiting := t.waiting[k]
	if waiting == nil {
		return
	}
	for e := waiting.Front(); e != nil; {
		found, ok := t.names[k]
		if !ok {
			return
		}
		by := e.Value.(lookup).by
		e = e.Next() // before its removal
		if !t.connected(by.Node) {
			continue
		}
		reply := &agentpb.NameReply{JobId: by.Job, Request: by.Number, Ok: true, Port: found.port}
		j := t.jobs[by.Job]
		t.stopWaiting(j, by)
		if found.once {
			j.keep(by.Node, reply)
		}
		o.answer(by.Node, reply)
		t.readOnce(o, k, by)
	}
}
