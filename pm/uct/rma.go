package uct

const (
	// MaxRMA is the longest Put, Get or Pull: its length has 38 bits in the header of a put.
	MaxRMA = 1 << 37
	// MaxGets bounds the operations of one EP that wait for data: the target keeps an answer for
	// each.
	MaxGets = 64
	// minCopy is the shortest transfer, in bytes, that ranks that share CPUs copy once between the
	// processes instead of twice through the channel, which costs a switch of processes for each
	// full lane. With CPUs of their own both ranks copy at the same time, and only pulls may be
	// copies (see pace). Measured where the bytes between them stay in a cache: 64 KiB in 3 us, 1
	// MiB in 32 and 4 MiB in 130, by process_vm_readv in 7, 75 and 315.
	minCopy = 16 << 10
	// maxSnapshot is the longest answer to a get, in bytes, that is copied if it cannot be sent at
	// once: later requests may write to the memory. For longer gets the origin holds such requests
	// back.
	maxSnapshot = MaxAtomicBytes
	// piecesPerTurn bounds what one operation sends before Progress looks at others.
	piecesPerTurn = 16
)

// Remote names memory of a peer: length bytes from Offset on in the region of the key.
type Remote struct {
	Key    uint64
	Offset uint64
	Port   uint8 // at the target, for its handlers
	From   uint8 // at this rank, for the same handlers
}

// Put copies data to the peer's memory. It calls done when the data is there; data must stay as it
// is until then. done may be nil.
func (e *EP) Put(data []byte, to Remote, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	if e.local && e.ops == 0 {
		if mem := e.direct(to, len(data), RemoteWrite); mem != nil {
			copy(mem, data)
			return e.immediate(done)
		}
	}
	e.startPut(data, to, done)
	return nil
}

// PutData is Put with immediate data: the target's HandleData is called after the bytes are there.
func (e *EP) PutData(data []byte, to Remote, immediate uint64, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	o := e.newPut(data, to, done)
	o.hasImmediate, o.immediate = true, immediate
	e.start(o)
	return nil
}

func (e *EP) startPut(data []byte, to Remote, done Completion) {
	e.start(e.newPut(data, to, done))
}

func (e *EP) newPut(data []byte, to Remote, done Completion) *op {
	o := e.newOp(opPut, done)
	o.data, o.remote, o.transfer = data, to, e.transferFor(len(data))
	return o
}

// Get copies memory of the peer to data. It calls done when the data is there.
func (e *EP) Get(data []byte, from Remote, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	if e.local && e.ops == 0 {
		if mem := e.direct(from, len(data), RemoteRead); mem != nil {
			copy(data, mem)
			return e.immediate(done)
		}
	}
	o := e.newOp(opGet, done)
	o.data, o.remote, o.transfer = data, from, e.transferFor(len(data))
	o.holdsWrites = o.transfer != byCopy && len(data) > maxSnapshot
	e.start(o)
	return nil
}

// GetAlone is Get for a caller that waits for each. If ranks share CPUs and the system allows it,
// the get is a copy between the processes, which takes longer than to ask, but no turn of the peer.
func (e *EP) GetAlone(data []byte, from Remote, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	if e.local && e.iface.crowded && e.ops == 0 && e.getByCopy(data, from) {
		complete(done)
		return nil
	}
	return e.Get(data, from, done)
}

// begin returns why no one-sided operation may begin now, or nil.
func (e *EP) begin() error {
	if err := e.ready(); err != nil {
		return err
	}
	if e.ops >= MaxOps {
		e.iface.counts.Exhausted++
		return ErrAgain
	}
	return nil
}

// beginRMA is begin for an operation on n bytes.
func (e *EP) beginRMA(n int) error {
	if n > MaxRMA {
		return ErrTooLong
	}
	return e.begin()
}

// immediate completes an operation that was done by load and store.
func (e *EP) immediate(done Completion) error {
	e.iface.counts.Direct++
	complete(done)
	return nil
}

func complete(done Completion) {
	if done != nil {
		done.Complete(nil)
	}
}

// start sends as much of an operation as there is room for; Progress sends the rest.
func (e *EP) start(o *op) {
	waits := e.out.first != nil
	e.out.push(o)
	if waits {
		return
	}
	if _, whole := e.advanceOp(o); !whole {
		e.activate()
	}
}

// Flush completes when the peer has served all operations that were begun before.
func (e *EP) Flush(done Completion) error {
	if e.failed != nil {
		return e.failed
	}
	if e.ops == 0 {
		complete(done)
		return nil
	}
	return e.Put(nil, Remote{Key: flushKey}, done)
}

// flushKey names no memory: a put of no bytes to it asks for an acknowledgement.
const flushKey = ^uint64(0)

// Quiet reports whether the peer has served all operations. Fence needs no more than that: access
// by load and store waits for it, and everything else is served in order.
func (e *EP) Quiet() bool { return e.ops == 0 }
