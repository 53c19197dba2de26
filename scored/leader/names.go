package leader

import (
	"errors"
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"score/scored/state"
	"score/scored/state/statepb"
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

// countPublished counts the bytes of names and answers.
func (c *controller) countPublished(j *job, change int) {
	j.published += change
	c.account(j.user.GetUid(), j.user.GetUser()).published += change
}

func (n name) size(service string) int { return len(service) + len(n.port) }

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

// publish publishes a name. A repeated request is granted again, since an agent may have lost the
// answer.
func (c *controller) publish(key nameKey, wanted name) error {
	if old, taken := c.names[key]; taken {
		if old.by == (requestKey{}) {
			old.by = wanted.by
		}
		if old != wanted {
			return errNameTaken
		}
		return nil
	}
	j := c.jobs[wanted.job]
	if err := c.mayPublish(j, key, wanted); err != nil {
		return err
	}
	j.names++
	c.countPublished(j, wanted.size(key.service))
	c.names[key] = wanted
	c.propose(&statepb.Command{Command: &statepb.Command_PublishName{PublishName: &statepb.PublishName{
		JobId: j.id, Service: key.service, Port: wanted.port, Once: wanted.once,
		By: c.requestBy(state.NameRequest{Job: j.id, Node: wanted.by.node, Number: wanted.by.request}),
	}}})
	return nil
}

// mayPublish refuses a name that is too much for the cluster.
func (c *controller) mayPublish(j *job, key nameKey, wanted name) error {
	switch {
	case !j.active():
		return errJobEnding
	case key.service == "" || len(key.service) > maxServiceName:
		return fmt.Errorf("a name has 1 to %d bytes, not %d", maxServiceName, len(key.service))
	case len(wanted.port) > maxPortName:
		return fmt.Errorf("%d bytes are published under one name, the most is %d", len(wanted.port), maxPortName)
	case j.names >= state.MaxNamesPerJob:
		return fmt.Errorf("the job has published %d names, the most that it may; unpublish some", j.names)
	case c.account(key.uid, j.user.GetUser()).published+wanted.size(key.service) > maxPublishedOfOne:
		return fmt.Errorf("what your jobs have published is all of the %d MiB that it may be; unpublish some names", maxPublishedOfOne>>20)
	case !texts.Valid(key.service, wanted.port):
		return c.requireProtocol(protocol.Texts)
	}
	return nil
}

// requestBy returns the request for the log, or nil if the log's protocol does not have it.
func (c *controller) requestBy(by state.NameRequest) *statepb.NameRequest {
	if c.requireProtocol(protocol.Answers) != nil {
		return nil
	}
	return &statepb.NameRequest{JobId: by.Job, Node: by.Node, Request: by.Number}
}

// restoreNames restores the names, and answers that may have been lost with an earlier leader.
func (c *controller) restoreNames(s *state.State) {
	for _, record := range s.Names() {
		c.names[nameKey{record.UID, record.Service}] = name{
			port: record.Port, job: record.Job, once: record.Once, by: requestKey{record.By.Node, record.By.Number},
		}
		if j := c.jobs[record.Job]; j != nil {
			j.names++
			c.countPublished(j, len(record.Service)+len(record.Port))
		}
	}
	for _, j := range c.jobs {
		for _, a := range s.Job(j.id).Answers {
			c.keepReply(j, a.Node, &scorev1.NameReply{JobId: j.id, Request: a.Number, Ok: true, Port: a.Port})
		}
	}
}

func (c *controller) unpublish(j *job, key nameKey, by state.NameRequest) bool {
	if c.names[key].job != j.id || !j.active() {
		return false
	}
	j.names--
	c.countPublished(j, -c.names[key].size(key.service))
	delete(c.names, key)
	c.propose(&statepb.Command{Command: &statepb.Command_UnpublishName{UnpublishName: &statepb.UnpublishName{
		JobId: j.id, Service: key.service, By: c.requestBy(by),
	}}})
	return true
}

// dropNames removes a job's names and lookups; the entry of its end does the same in the state.
func (c *controller) dropNames(j *job) {
	j.replies = replies{}
	c.countPublished(j, -j.published)
	c.account(j.user.GetUid(), j.user.GetUser()).lookups -= len(j.lookups)
	for key, name := range c.names {
		if name.job == j.id {
			delete(c.names, key)
		}
	}
	keys := make(map[nameKey]bool)
	for _, key := range j.lookups {
		keys[key] = true
	}
	j.lookups = nil
	for key := range keys {
		others := slices.DeleteFunc(c.lookups[key], func(w nameWait) bool { return w.job == j.id })
		if c.lookups[key] = others; len(others) == 0 {
			delete(c.lookups, key)
		}
	}
}
