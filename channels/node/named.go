package node

import (
	"score/channels/link"
	"score/channels/link/tipc"
)

// Nodes linked by TIPC. The directory's socket is bound to one name for each job; what comes to it
// is sealed with the job's key, since anybody may bind a name, and see what is sent there.

func (d *directory) openNamed(n *Node) error {
	socket, err := tipc.Listen(link.Address{})
	if err != nil {
		return err
	}
	port, err := tipc.New(socket)
	if err != nil {
		socket.Close()
		return err
	}
	d.use(n, port)
	d.named = true
	return nil
}

// publish gives the directory the job's name for this node. The caller holds the node's mu, as for
// withdraw.
func (l *loop) publish(j *Job) error {
	if j.names == nil {
		return nil
	}
	if err := tipc.Publish(l.directory.fd, j.names.Directory(j.places.Own())); err != nil {
		return err
	}
	l.post(func() { l.subscribe(j) })
	return nil
}

func (l *loop) withdraw(j *Job) {
	if j.names != nil {
		_ = tipc.Withdraw(l.directory.fd, j.names.Directory(j.places.Own())) // the socket may be closed
		l.post(func() { l.unsubscribe(j) })
	}
}

// withdraw gives up the name of a dead context, as the kernel does when a socket is closed: so the
// agents of other nodes learn of the death.
func (j *Job) withdraw(of name) {
	if j.names == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.contexts[of]; c != nil && !c.withdrawn.Swap(true) {
		_ = tipc.Withdraw(c.fd, c.at) // it would stay until the socket is closed
	}
}

// here is where the context receives: not a name, but a socket.
func (c *Context) here() link.Address {
	if c.job.names != nil {
		return c.driver.Port().Local()
	}
	return c.at
}

// takeSealed takes what came to one of the directory's names.
func (d *directory) takeSealed(from link.Address, data []byte) {
	s, err := link.ParseSealed(data)
	if err != nil || s.Channel >= MaxChannels {
		return
	}
	j := d.node.jobNamed(s.Name, func(key uint64) bool { return link.Opens(data, key, from, link.Address{}) })
	if j == nil || j.has(s.From) {
		return
	}
	switch s.Kind {
	case link.Where:
		d.answerWhere(j, from, &s)
	case link.End:
		j.peerEnded(s.Channel, s.From, s.Status)
	case link.Data, link.Ask, link.Answer, link.Here:
	}
}

// jobNamed finds the job that has the instance as the name of this node's directory and whose key
// opens the message.
func (n *Node) jobNamed(instance uint32, opens func(key uint64) bool) *Job {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, j := range n.jobs {
		if j.names != nil && j.names.Base+j.places.Own() == instance && opens(j.key) {
			return j
		}
	}
	return nil
}

// answerWhere answers a rank of another node, or its agent.
func (d *directory) answerWhere(j *Job, from link.Address, q *link.Sealed) {
	if !j.has(q.To) {
		return
	}
	a := link.Sealed{Kind: link.Here, Channel: q.Channel, From: q.To, To: q.From}
	status, at := j.portOf(name{q.Channel, q.To}, uint32(q.Flow))
	a.Status = status
	if _, reference, ok := at.Socket(); ok {
		a.Name = reference
	} else if status == link.StatusHere {
		a.Status = link.StatusNotYet // the kernel does not say where its socket is
	}
	d.port.Queue(from, a.Put(d.port.Buffer(), j.key, d.port.Local(), from))
}

// sendDeath announces a death to another directory.
func (d *directory) sendDeath(to link.Address, h *link.Head) {
	_, instance, named := to.Name()
	if !named {
		d.send(to, h)
		return
	}
	s := link.Sealed{Kind: link.End, Channel: h.Channel, From: h.From, To: h.To, Name: instance, Status: h.Status}
	d.port.Queue(to, s.Put(d.port.Buffer(), h.Job, d.port.Local(), link.Address{}))
}
