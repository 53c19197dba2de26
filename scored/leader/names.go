package leader

import (
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
)

// maxServiceName and maxPortName are the limits of the process management interfaces: PMIx has keys
// of up to 511 bytes, and a value published with it may list hundreds of processes
// (pmi.MaxPublished). maxLookups bounds the pending lookups of one job: most of its ranks have
// none, since one rank looks a name up for all.
const (
	maxServiceName = 640
	maxPortName    = 16 << 10
	maxLookups     = 1 << 14
	// maxLookupsOfOne bounds the pending lookups of a user's jobs: two jobs that wait for as many
	// names as they may. One name answers them all at once, and all may be of one node, so it is a
	// quarter of what may wait for an agent (rpc.maxOutbox).
	maxLookupsOfOne = 1 << 15
	// maxPublishedOfOne bounds the bytes of the names that a user's jobs have published, and of the
	// answers that are kept about names that are gone: four jobs that publish as much as they may.
	// Every server keeps them in memory, and in its log.
	maxPublishedOfOne = 16 << 20
	// maxKeptReplies bounds the answers that are kept for one job's repeated requests: an agent
	// that lost them is back within NodeGrace, and few of a job's ranks use names at the same time.
	maxKeptReplies = state.MaxAnswersPerJob
	maxKeptBytes   = state.MaxAnswerBytes
)

var (
	// errNameTaken refuses a name that is published already.
	errNameTaken = errors.New("the name is taken")
	// errJobEnding refuses names to a job whose names are about to be removed.
	errJobEnding = errors.New("the job is ending")
)

// nameKey identifies a name: users do not see each other's names.
type nameKey struct {
	uid     uint32
	service string
}

type name struct {
	port string
	job  uint64
	once bool
	by   requestKey // zero: published under an earlier leader
}

// nameWait is a lookup that waits until its name is published.
type nameWait struct {
	job uint64
	by  requestKey
}

// requestKey identifies a request of a job.
type requestKey struct {
	node    string
	request uint64
}

// replies keeps the last answers to requests that can be granted only once. If an answer is lost
// with an agent, a repeated lookup of a name that is read once would wait forever, since the name
// is gone. The state has the answers too, since a leader may die with one.
type replies struct {
	byRequest map[requestKey]*scorev1.NameReply
	order     []requestKey // oldest first
	bytes     int          // of the ports in them
}

func (r *replies) add(node string, reply *scorev1.NameReply) {
	if r.byRequest == nil {
		r.byRequest = make(map[requestKey]*scorev1.NameReply)
	}
	key := requestKey{node, reply.GetRequest()}
	r.byRequest[key] = reply
	r.order = append(r.order, key)
	r.bytes += len(reply.GetPort())
	for len(r.order) > maxKeptReplies || r.bytes > maxKeptBytes {
		oldest := r.order[0]
		r.bytes -= len(r.byRequest[oldest].GetPort())
		delete(r.byRequest, oldest)
		r.order = slices.Delete(r.order, 0, 1)
	}
}

// keepReply keeps an answer for a job that may ask again.
func (c *controller) keepReply(j *job, node string, reply *scorev1.NameReply) {
	if !j.active() {
		return
	}
	before := j.replies.bytes
	j.replies.add(node, reply)
	c.countPublished(j, j.replies.bytes-before)
}

// nameRequest publishes, finds or removes a name for a rank. A repeated request gets the same
// answer.
func (c *controller) nameRequest(n *node, m *scorev1.NameRequest) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	if reply := j.replies.byRequest[requestKey{n.name, m.GetRequest()}]; reply != nil {
		c.send(n.link, nameMessage(reply))
		return
	}
	reply := &scorev1.NameReply{JobId: m.GetJobId(), Request: m.GetRequest()}
	key := nameKey{j.user.GetUid(), m.GetService()}
	once := m.GetOnce()
	switch m.GetOp() {
	case scorev1.NameOp_NAME_OP_LOOKUP:
		if found, ok := c.names[key]; ok {
			reply.Port, reply.Ok, once = found.port, true, found.once
			c.readOnce(key, state.NameRequest{Job: j.id, Node: n.name, Number: m.GetRequest()})
		} else if m.GetWait() {
			err := c.waitForName(j, key, requestKey{n.name, m.GetRequest()})
			if err == nil {
				return
			}
			reply.Error = err.Error()
		}
	case scorev1.NameOp_NAME_OP_PUBLISH:
		err := c.publish(key, name{m.GetPort(), j.id, once, requestKey{n.name, m.GetRequest()}})
		reply.Ok = err == nil
		if err != nil && !errors.Is(err, errNameTaken) {
			reply.Error = err.Error()
		}
	case scorev1.NameOp_NAME_OP_UNPUBLISH:
		reply.Ok, once = c.unpublish(j, key, state.NameRequest{Job: j.id, Node: n.name, Number: m.GetRequest()}), true
	case scorev1.NameOp_NAME_OP_UNSPECIFIED:
		// not ok
	}
	if once && reply.GetOk() {
		c.keepReply(j, n.name, reply)
	}
	c.send(n.link, nameMessage(reply))
	if m.GetOp() == scorev1.NameOp_NAME_OP_PUBLISH && reply.GetOk() {
		c.namePublished(key)
	}
}

func nameMessage(reply *scorev1.NameReply) *scorev1.ServerMessage {
	return &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Name{Name: reply}}
}

// waitForName queues a lookup. An agent that has lost its stream asks again.
func (c *controller) waitForName(j *job, key nameKey, by requestKey) error {
	if _, waits := j.lookups[by]; waits {
		return nil
	}
	a := c.account(key.uid, j.user.GetUser())
	switch {
	case !j.active():
		return errJobEnding
	case len(j.lookups) >= maxLookups || a.lookups >= maxLookupsOfOne:
		return fmt.Errorf("%d lookups of your jobs, %d of this one, wait for names; no more can", a.lookups, len(j.lookups))
	}
	if j.lookups == nil {
		j.lookups = make(map[requestKey]nameKey)
	}
	j.lookups[by] = key
	a.lookups++
	c.lookups[key] = append(c.lookups[key], nameWait{j.id, by})
	return nil
}

// namePublished answers lookups that wait for a name; a name that is read once goes to the first.
func (c *controller) namePublished(key nameKey) {
	waiting := c.lookups[key]
	delete(c.lookups, key)
	for _, w := range waiting {
		found, ok := c.names[key]
		n := c.nodes[w.by.node]
		if !ok || !n.connected() {
			c.lookups[key] = append(c.lookups[key], w)
			continue
		}
		reply := &scorev1.NameReply{JobId: w.job, Request: w.by.request, Ok: true, Port: found.port}
		if j := c.jobs[w.job]; j != nil {
			delete(j.lookups, w.by)
			c.account(key.uid, j.user.GetUser()).lookups--
			if found.once {
				c.keepReply(j, w.by.node, reply)
			}
		}
		c.send(n.link, nameMessage(reply))
		c.readOnce(key, state.NameRequest{Job: w.job, Node: w.by.node, Number: w.by.request})
	}
}

// readOnce removes a name after a lookup, if it was published to be read once.
func (c *controller) readOnce(key nameKey, by state.NameRequest) {
	found := c.names[key]
	if owner := c.jobs[found.job]; found.once && owner != nil {
		c.unpublish(owner, key, by)
	}
}
