package tag

// ReceiveMany begins a receive of many messages into one buffer, one behind the other, until fewer
// than minLeft bytes are left or it is canceled. OnDone is called for each message; with the last
// one, Last is set.
func (e *Endpoint) ReceiveMany(o *Op, c Criteria, buf []byte, minLeft int) error {
	if err := e.ready(o); err != nil {
		return err
	}
	o.prepare(e, c, buf)
	o.many, o.minLeft = true, max(minLeft, 1)
	o.recv.Multi = true
	return e.post(o)
}

// part takes space for a message of the length from a buffer for many.
func (o *Op) part(length int) *Op {
	n := min(length, len(o.buf))
	child := o.ep.stack.newOp()
	child.ep, child.parent, child.space = o.ep, o, o.space
	child.buf = o.buf[:n:n]
	o.buf = o.buf[n:]
	o.pending++
	if len(o.buf) < o.minLeft {
		o.ep.match[o.space].Cancel(&o.recv)
		o.detached = true
	}
	return child
}

// endPart reports a message that is in a buffer for many.
func (o *Op) endPart(err error) {
	parent := o.parent
	parent.pending--
	parent.Result = o.Result
	parent.Err = err
	o.Result = Result{} // its bytes are the caller's
	o.ep.stack.recycle(o)
	if parent.detached && parent.pending == 0 {
		parent.Last = true
		parent.finish(err)
		return
	}
	if parent.OnDone != nil {
		parent.OnDone(parent)
	}
}

// takeInto takes a message into a buffer for many, and reports whether it takes more.
func (o *Op) takeInto(h *Held) bool {
	o.part(h.Length()).takeHeld(h)
	return !o.detached
}
