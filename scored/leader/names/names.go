// Package names keeps the names that the ranks of jobs publish for each other, with
// MPI_Publish_name, PMIx_Publish and their like, and the lookups that wait for a name.
//
// A Table is a machine without I/O: a rank's request goes in; changes for the log and answers for
// agents come out. It does not know jobs and nodes: its owner says who asks, and when a job's names
// go. It answers a repeated request as it answered the first, since agents repeat those whose
// answer was lost.
package names

import (
	"container/list"
	"errors"
	"score/scored/api/agentpb"
	"score/scored/state"
)

const (
	// MaxService and MaxPort are the limits of the process management interfaces: PMIx has keys of
	// up to 511 bytes, and a value published with it may list hundreds of processes
	// (pmi.MaxPublished).
	MaxService = 640
	MaxPort    = 16 << 10
	// MaxLookups bounds the pending lookups of one job: most of its ranks have none, since one rank
	// looks a name up for all.
	MaxLookups = 1 << 14
	// MaxLookupsOfOne bounds the pending lookups of a user's jobs: two jobs that wait for as many
	// names as they may. One name answers them all at once, and all may be of one node, so it is a
	// quarter of what may wait for an agent (api.MaxQueued).
	MaxLookupsOfOne = 1 << 15
	// MaxBytesOfOne bounds the bytes of the names that a user's jobs have published, and of the
	// answers that are kept about names that are gone: four jobs that publish as much as they may.
	// Every server keeps them in memory, and in its log.
	MaxBytesOfOne = 16 << 20
)

var (
	errTaken  = errors.New("the name is taken")
	errEnding = errors.New("the job is ending")
)

// key identifies a name: users do not see each other's names.
type key struct {
	uid     uint32
	service string
}

// name is a published name.
type name struct {
	port string
	job  uint64
	once bool
	by   state.NameRequest // zero: published under an earlier leader
}

func (n name) bytes(service string) int { return len(service) + len(n.port) }

// Table holds the names of all users. After each call:
//
//   - jobs has every job with a name, a pending lookup or a kept answer. All of these go with it.
//   - waiting and the lookups of jobs hold the same lookups, and users the sums over their jobs.
//   - A lookup waits only for a name that is not published, or while its node is not connected.
//
// A request takes no longer if many names are published or many lookups wait: the leader does
// nothing else meanwhile.
type Table struct {
	connected func(node string) bool
	names     map[key]name
	waiting   map[key]*list.List // of lookups, oldest first
	jobs      map[uint64]*job
	users     map[uint32]*user
}

// job is what the table has of a job with places; nil: a job without places, which gets nothing
// new.
type job struct {
	id      uint64
	of      *user
	names   map[string]bool // services that it has published
	bytes   int             // of them, and of replies
	lookups map[state.NameRequest]*list.Element
	replies replies
}

// lookup is one that waits.
type lookup struct {
	key
	by state.NameRequest
}

type user struct {
	uid  uint32
	jobs int
	Use
}

// Use is what the jobs of a user take of the bounds.
type Use struct {
	Lookups int // pending
	Bytes   int // of names and kept answers
}

// New returns an empty table. A lookup waits while connected says that its node has no stream,
// since an answer would be lost.
func New(connected func(node string) bool) *Table {
	return &Table{
		connected: connected, names: make(map[key]name), waiting: make(map[key]*list.List),
		jobs: make(map[uint64]*job), users: make(map[uint32]*user),
	}
}

// Len returns the number of published names.
func (t *Table) Len() int { return len(t.names) }

// Use returns what a user's jobs take.
func (t *Table) Use(uid uint32) Use {
	if u := t.users[uid]; u != nil {
		return u.Use
	}
	return Use{}
}

// Restore adds a name of the committed state.
func (t *Table) Restore(record *state.Name) {
	n := name{port: record.Port, job: record.Job, once: record.Once, by: record.By}
	j := t.job(record.Job, record.UID)
	t.names[key{record.UID, record.Service}] = n
	j.names[record.Service] = true
	j.count(n.bytes(record.Service))
}

// RestoreAnswers adds the answers that the state keeps for a job with places: an earlier leader may
// have been lost with them.
func (t *Table) RestoreAnswers(id uint64, uid uint32, answers []state.NameAnswer) {
	for _, a := range answers {
		t.job(id, uid).keep(a.Node, &agentpb.NameReply{JobId: id, Request: a.Number, Ok: true, Port: a.Port})
	}
}

// job returns the entry of a job, and makes it if there is none.
func (t *Table) job(id uint64, uid uint32) *job {
	if j := t.jobs[id]; j != nil {
		return j
	}
	u := t.users[uid]
	if u == nil {
		u = &user{uid: uid}
		t.users[uid] = u
	}
	u.jobs++
	j := &job{id: id, of: u, names: make(map[string]bool), lookups: make(map[state.NameRequest]*list.Element)}
	t.jobs[id] = j
	return j
}

// count counts bytes of names and answers.
func (j *job) count(change int) {
	j.bytes += change
	j.of.Bytes += change
}

// Drop removes what there is of a job that has no places any more; the entry in which it loses them
// does the same in the state.
func (t *Table) Drop(id uint64) {
	j := t.jobs[id]
	if j == nil {
		return
	}
	for service := range j.names {
		delete(t.names, key{j.of.uid, service})
	}
	for by := range j.lookups {
		t.stopWaiting(j, by)
	}
	j.of.Bytes -= j.bytes
	if j.of.jobs--; j.of.jobs == 0 {
		delete(t.users, j.of.uid)
	}
	delete(t.jobs, id)
}
