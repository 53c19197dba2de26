package messages

import (
	"errors"
	"runtime"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"score/pm/tag"
	"score/pm/uct"
	"strings"
)

const (
	// stackFew and stackMany are nodes of one rank: what a rank of the larger job has more, it has
	// for peers that it never talked to.
	stackFew, stackMany = 2, 130
	// stackLocal are ranks of one node: all have a lane into the first one's inbox.
	stackLocal = 15
	// settle is how often all ranks make progress after the last message.
	settle = 100
	// collections are enough for what files and processes of an earlier job leave behind, and for
	// the profile, which is as of the collection before the last.
	collections = 6
	// profileRecords are more than there are places in the program that allocate.
	profileRecords = 1 << 16
)

// StackMemory is what a rank's channel and stack take, in bytes.
type StackMemory struct {
	PeerNew  float64 // per peer with which there was nothing yet
	PeerOnce float64 // more per peer on another node with which a message was exchanged each way
	Lane     float64 // more per peer on the node that has a lane: ER
	Limit    float64 // of what all lanes of a process may have
}

// MeasureStackMemory makes jobs in this process and looks at the memory that the system gave.
func MeasureStackMemory() (m StackMemory, err error) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1 // the profile counts all
	few, _, err := stackBytes(stackFew, 1)
	if err != nil {
		return m, err
	}
	many, talked, err := stackBytes(stackMany, 1)
	if err != nil {
		return m, err
	}
	before, lanes, err := stackBytes(1, stackLocal)
	if err != nil {
		return m, err
	}
	const peers = stackMany - 2 // but for the one of the first messages
	return StackMemory{
		PeerNew: (many.image + many.heap - few.image - few.heap) / (stackMany - stackFew),
		// Half of what the heap has more is the peers' own part.
		PeerOnce: (talked.image-many.image)/peers + (talked.heap-many.heap)/2/peers,
		Lane:     (lanes.image - before.image) / (stackLocal - 2), // one came with the first messages
		Limit:    pm.DefaultLaneBytes,
	}, nil
}

// stackRank is a rank of a job that is in this process with all others.
type stackRank struct {
	process *pm.Process
	worker  *uct.Worker
	md      *uct.MD
	ep      *tag.Endpoint
}

// stackBytes makes a job. fresh is what its rank 0 takes, talked what that and the other ranks'
// stacks take after each exchanged a message with rank 0, without what their first messages made;
// of the image, rank 0's alone.
func stackBytes(nodes, perNode int) (fresh, talked footprint, err error) {
	hub, err := local.NewCluster(nodes, perNode, abi.Geometry{})
	if err != nil {
		return fresh, talked, err
	}
	var ranks []*stackRank
	defer func() {
		for _, r := range ranks {
			err = errors.Join(err, r.worker.Close(), r.md.Close(), r.process.Close())
		}
		err = errors.Join(err, hub.Close())
	}()
	before := heapOfPeers()
	for rank := range nodes * perNode {
		r, err := newStackRank(hub, rank)
		if err != nil {
			return fresh, talked, err
		}
		ranks = append(ranks, r)
		if rank > 0 {
			continue
		}
		if fresh, err = stackFootprint(hub, before); err != nil {
			return fresh, talked, err
		}
	}
	// The first messages of each rank have it make what does not grow with its peers.
	last := len(ranks) - 1
	if err := exchangeAll(ranks[last], ranks[:last]); err != nil {
		return fresh, talked, err
	}
	begun, err := stackFootprint(hub, before)
	if err != nil {
		return fresh, talked, err
	}
	before = heapOfPeers()
	if err := exchangeAll(ranks[0], ranks[1:last]); err != nil {
		return fresh, talked, err
	}
	talked, err = stackFootprint(hub, before)
	talked.heap += fresh.heap
	talked.image -= begun.image - fresh.image
	runtime.KeepAlive(ranks)
	return fresh, talked, err
}

func newStackRank(hub *local.Hub, rank int) (*stackRank, error) {
	socket, err := hub.Connect(rank)
	if err != nil {
		return nil, err
	}
	p, err := pm.Join(socket, pm.DefaultSettings())
	if err != nil {
		return nil, err
	}
	ch, err := p.Open(1)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	r := &stackRank{process: p, worker: uct.NewWorker(), md: uct.NewMD(0)}
	r.ep, err = tag.NewStack(r.worker.Open(ch, r.md), r.md, tag.Settings{}).Open(0)
	return r, err
}

// exchangeAll sends a message from a rank to each of the others, and one back.
func exchangeAll(one *stackRank, others []*stackRank) error {
	word := make([]byte, 8)
	var ops [4]tag.Op
	for _, r := range others {
		me, other := one.ep.Peer(), r.ep.Peer()
		err := errors.Join(
			r.ep.Receive(&ops[0], tag.Criteria{Source: me, Tag: 1}, word), one.ep.Send(&ops[1], other, 1, word),
			one.ep.Receive(&ops[2], tag.Criteria{Source: other, Tag: 1}, word), r.ep.Send(&ops[3], me, 1, word))
		if err != nil {
			return err
		}
		for at := range ops {
			for o := &ops[at]; !o.Done(); {
				one.worker.Progress()
				r.worker.Progress()
			}
			if ops[at].Err != nil {
				return ops[at].Err
			}
		}
	}
	for range settle { // acknowledgements
		one.worker.Progress()
		for _, r := range others {
			r.worker.Progress()
		}
	}
	return nil
}

// stackFootprint is what rank 0's image was given, and what the heap has more than before.
func stackFootprint(hub *local.Hub, before int64) (footprint, error) {
	img, err := hub.Image(1, 0)
	if err != nil {
		return footprint{}, err
	}
	f, err := touched(img, 0)
	return footprint{f.image, float64(heapOfPeers() - before)}, err
}

// heapOfPeers is what is in use of the heap without what the agents have, which are in this
// process, too, and without buffers of sockets: these are each socket's, and made at the first
// datagrams. It counts what was allocated since MeasureStackMemory began.
func heapOfPeers() (bytes int64) {
	for range collections {
		runtime.GC()
	}
	records := make([]runtime.MemProfileRecord, profileRecords)
	n, _ := runtime.MemProfile(records, false)
	for i := range min(n, len(records)) {
		if r := &records[i]; !isOthers(r.Stack()) {
			bytes += r.InUseBytes()
		}
	}
	return bytes
}

func isOthers(stack []uintptr) bool {
	for frames := runtime.CallersFrames(stack); ; {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "score/channels/link/udp.") || strings.HasPrefix(f.Function, "score/channels/node.") {
			return true
		}
		if !more {
			return false
		}
	}
}
