package jobs

import (
	"context"
	"fmt"
	"score/channels/node"
	"score/nodeagent/steward/client"
	"sync"
)

// spareKeeper gives the job's steward copies of the descriptors of the job's contexts. It connects
// when the first context is made: most jobs have none.
type spareKeeper struct {
	socket string
	job    uint64

	mu     sync.Mutex
	conn   *client.Spares // nil: not connected
	closed bool
}

func newSpareKeeper(socket string, job uint64) *spareKeeper {
	return &spareKeeper{socket: socket, job: job}
}

// reopen returns the contexts that an earlier agent has left.
func (k *spareKeeper) reopen(ctx context.Context) ([]node.Spare, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, err := k.dial(ctx)
	if err != nil {
		return nil, err
	}
	spares := make([]node.Spare, len(kept))
	for i, s := range kept {
		spares[i] = node.Spare{Channel: s.Channel, Rank: s.Rank, Image: s.Image, Socket: s.Socket}
	}
	return spares, nil
}

// dial connects. The caller holds mu.
func (k *spareKeeper) dial(ctx context.Context) ([]client.Spare, error) {
	if k.closed {
		return nil, fmt.Errorf("%w: the job has left", client.ErrGone)
	}
	conn, kept, err := client.DialSpares(ctx, k.socket, k.job)
	if err != nil {
		return nil, err
	}
	k.conn = conn
	return kept, nil
}

// keep implements node.JobConfig.Keep.
func (k *spareKeeper) keep(s node.Spare) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn == nil {
		kept, err := k.dial(context.Background()) // dial has a timeout of its own
		if err != nil {
			return err
		}
		for i := range kept {
			kept[i].Close() // this agent already has them
		}
	}
	err := k.conn.Keep(client.Spare{Channel: s.Channel, Rank: s.Rank, Image: s.Image, Socket: s.Socket})
	if err != nil {
		k.conn.Close()
		k.conn = nil
	}
	return err
}

// close closes the connection; the steward keeps the contexts until it forgets the job.
func (k *spareKeeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.conn != nil {
		k.conn.Close()
		k.conn = nil
	}
}
