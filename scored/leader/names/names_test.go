package names

import (
	"cmp"
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/state"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// lookupsOf returns what a node's ranks wait for, in a fixed order.
func (t *Table) lookupsOf(node string) (found []lookup) {
	for k := range t.waiting {
		for _, by := range t.waitingFor(k) {
			if by.Node == node {
				found = append(found, lookup{k, by})
			}
		}
	}
	slices.SortFunc(found, func(a, b lookup) int {
		return cmp.Or(cmp.Compare(a.by.Job, b.by.Job), cmp.Compare(a.by.Number, b.by.Number))
	})
	return found
}

// waitingFor returns the lookups that wait for a name, oldest first.
func (t *Table) waitingFor(k key) (found []state.NameRequest) {
	for e := t.waiting[k].Front(); e != nil; e = e.Next() {
		found = append(found, e.Value.(lookup).by)
	}
	return found
}

// check fails if the table's parts do not agree.
func (t *Table) check(f interface{ Fatalf(string, ...any) }) {
	published, lookups, sums := make(map[uint64]int), 0, make(map[uint32]*user)
	bytes := make(map[uint64]int)
	for k, n := range t.names {
		if t.jobs[n.job] == nil {
			f.Fatalf("%v is of job %d, which is not there", k, n.job)
		}
		if !t.jobs[n.job].names[k.service] {
			f.Fatalf("%v is not of job %d", k, n.job)
		}
		published[n.job]++
		bytes[n.job] += n.bytes(k.service)
	}
	for id, j := range t.jobs {
		if len(j.names) != published[id] || j.bytes != bytes[id]+j.replies.bytes {
			f.Fatalf("job %d: %+v, and it has %d names", id, j, published[id])
		}
		if len(j.replies.order) != len(j.replies.byRequest) || len(j.replies.order) > maxKept || j.replies.bytes > maxKeptBytes {
			f.Fatalf("job %d keeps %+v", id, j.replies)
		}
		for by, e := range j.lookups {
			if l := e.Value.(lookup); l.by != by || by.Job != id || !slices.Contains(t.waitingFor(l.key), by) {
				f.Fatalf("%v of job %d does not wait for %v", by, id, l.key)
			}
		}
		lookups += len(j.lookups)
		sum := sums[j.of.uid]
		if sum == nil {
			sum = &user{uid: j.of.uid}
			sums[j.of.uid] = sum
		}
		sum.jobs++
		sum.Lookups += len(j.lookups)
		sum.Bytes += j.bytes
	}
	for k := range t.waiting {
		waiting := t.waitingFor(k)
		if lookups -= len(waiting); len(waiting) == 0 {
			f.Fatalf("nobody waits for %v", k)
		}
		if _, ok := t.names[k]; ok && slices.ContainsFunc(waiting, func(by state.NameRequest) bool { return t.connected(by.Node) }) {
			f.Fatalf("%v is published, and %v wait", k, waiting)
		}
	}
	if lookups != 0 || len(sums) != len(t.users) {
		f.Fatalf("%d more lookups of jobs than wait; %d users of jobs, %d in the table", lookups, len(sums), len(t.users))
	}
	for uid, sum := range sums {
		if *sum != *t.users[uid] {
			f.Fatalf("user %d has %+v, the sum is %+v", uid, t.users[uid], sum)
		}
	}
}

// TestTable: whatever ranks ask, the parts of the table agree, its changes make a log that the
// state would take, and a name that is read once has one reader.
func TestTable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type logged struct {
			uid     uint32
			service string
		}
		log := make(map[logged]Change)
		connected := map[string]bool{"n1": true, "n2": true}
		table := New(func(node string) bool { return connected[node] })
		number := uint64(0)
		handle := func(rt *rapid.T, from Asker, m *agentpb.NameRequest) {
			o := table.Handle(from, m)
			for _, change := range o.Changes {
				k := logged{from.UID, change.Service}
				was, published := log[k]
				if published != change.Gone || change.Gone && was.Job != change.Job {
					rt.Fatalf("%+v after %+v", change, was)
				}
				if delete(log, k); !change.Gone {
					log[k] = change
				}
			}
			for _, answer := range o.Answers {
				if !connected[answer.Node] {
					rt.Fatalf("an answer to %s, which is not connected", answer.Node)
				}
			}
		}
		// connect has a node ask again for what its ranks wait for, as agents do that had lost
		// their stream.
		connect := func(rt *rapid.T, node string) {
			if connected[node] {
				return
			}
			connected[node] = true
			for _, l := range table.lookupsOf(node) {
				again := &agentpb.NameRequest{
					JobId: l.by.Job, Request: l.by.Number, Op: agentpb.NameOp_NAME_OP_LOOKUP, Service: l.service, Wait: true,
				}
				handle(rt, Asker{Node: node, UID: l.uid, Placed: true}, again)
			}
		}
		ask := func(rt *rapid.T) {
			number++
			id := rapid.Uint64Range(1, 4).Draw(rt, "job")
			from := Asker{Node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(rt, "node"), UID: uint32(id % 2), Placed: true}
			connect(rt, from.Node)
			if rapid.IntRange(0, 3).Draw(rt, "again") == 0 {
				number -= min(number-1, 3)
			}
			m := &agentpb.NameRequest{
				JobId: id, Request: number, Op: agentpb.NameOp(rapid.IntRange(0, 3).Draw(rt, "op")),
				Service: rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(rt, "service"), Port: fmt.Sprint("port", number%2),
				Once: rapid.Bool().Draw(rt, "once"), Wait: rapid.Bool().Draw(rt, "wait"),
			}
			from.Placed = table.jobs[id] != nil || rapid.IntRange(0, 5).Draw(rt, "placed") > 0
			handle(rt, from, m)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"ask":        ask,
			"disconnect": func(rt *rapid.T) { connected[rapid.SampledFrom([]string{"n1", "n2"}).Draw(rt, "node")] = false },
			"drop": func(rt *rapid.T) {
				id := rapid.Uint64Range(1, 4).Draw(rt, "job")
				table.Drop(id)
				for k, change := range log {
					if change.Job == id {
						delete(log, k)
					}
				}
			},
			"restore": func(*rapid.T) {
				next := New(table.connected)
				for k, change := range log {
					next.Restore(&state.Name{UID: k.uid, Service: k.service, Port: change.Port, Job: change.Job, Once: change.Once, By: change.By})
				}
				table = next
			},
			"": func(rt *rapid.T) {
				table.check(rt)
				if table.Len() != len(log) {
					rt.Fatalf("%d names, %d in the log", table.Len(), len(log))
				}
			},
		})
		for id := range uint64(5) {
			table.Drop(id)
		}
		if len(table.names)+len(table.waiting)+len(table.jobs)+len(table.users) != 0 {
			rt.Fatalf("left: %+v", table)
		}
	})
}

// TestJobWithoutPlaces: ranks of a job that has lost its places are answered, and nothing is kept.
func TestJobWithoutPlaces(t *testing.T) {
	table := New(func(string) bool { return true })
	request := func(number uint64, op agentpb.NameOp) *agentpb.NameRequest {
		return &agentpb.NameRequest{JobId: 1, Request: number, Op: op, Service: "ocean", Wait: true, Once: true}
	}
	from := Asker{Node: "n1", UID: 7, Placed: true}
	table.Handle(from, request(1, agentpb.NameOp_NAME_OP_PUBLISH))
	table.Drop(1)
	from.Placed = false
	for number, op := range []agentpb.NameOp{agentpb.NameOp_NAME_OP_LOOKUP, agentpb.NameOp_NAME_OP_PUBLISH, agentpb.NameOp_NAME_OP_UNPUBLISH} {
		o := table.Handle(from, request(uint64(number)+2, op))
		if len(o.Answers) != 1 || o.Answers[0].Reply.GetOk() || len(o.Changes) != 0 {
			t.Errorf("%v: %+v", op, o)
		}
	}
	if len(table.jobs) != 0 {
		t.Errorf("kept: %+v", table.jobs)
	}
}
