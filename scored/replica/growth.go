package replica

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

const (
	// minGrowth is how many bytes of entries are applied between two snapshots at least, unless
	// there are as many entries as snapshotThreshold. Entries with the command lines of users have
	// up to some MiB, so their number alone does not bound the log.
	minGrowth = 32 << 20
	// growthRetry is the time after which a snapshot that could not be made is tried again.
	growthRetry = 10 * time.Second
)

// growth counts the bytes of the entries applied since the last snapshot, and requests the next
// one. A snapshot that is larger than that is followed by as many bytes of entries, so that
// snapshots never write more than the log does.
type growth struct {
	minBytes int64 // minGrowth, except in tests
	bytes    atomic.Int64
	limit    atomic.Int64
	due      chan struct{} // one element: a snapshot is due
}

func newGrowth(minBytes int64) *growth {
	g := &growth{minBytes: minBytes, due: make(chan struct{}, 1)}
	g.limit.Store(minBytes)
	return g
}

// add counts an entry that was applied.
func (g *growth) add(bytes int) {
	g.bytes.Add(int64(bytes))
	if !g.over() {
		return
	}
	select {
	case g.due <- struct{}{}:
	default: // one is pending
	}
}

// over reports whether a snapshot is due. It is asked again when the snapshot can be made: entries
// that were applied while the last one was written have requested one, too.
func (g *growth) over() bool { return g.bytes.Load() >= g.limit.Load() }

// onSnapshot records a snapshot of a size that contains what was counted when it was captured.
func (g *growth) onSnapshot(contains int64, size int) {
	g.bytes.Add(-contains)
	g.limit.Store(max(g.minBytes, int64(size)))
}

// onRestored records that a snapshot of a size has replaced the state.
func (g *growth) onRestored(size int) { g.onSnapshot(g.bytes.Load(), size) }

// boundLog makes a snapshot, and so cuts the log, whenever one is due, until the replica stops.
func (r *Replica) boundLog() {
	for {
		select {
		case <-r.stop:
			return
		case <-r.growth.due:
		}
		if !r.growth.over() {
			continue
		}
		made := make(chan error, 1)
		go func() { made <- r.raft.Snapshot().Error() }() // waits for the disk
		select {
		case <-r.stop:
			return
		case err := <-made:
			if err == nil || err == raft.ErrNothingNewToSnapshot { //nolint:errorlint // Raft does not wrap it
				continue
			}
			r.logger.Warn("the log could not be cut: no snapshot was made", zap.Error(err))
		}
		select {
		case <-r.stop:
			return
		case <-time.After(growthRetry): // the next entry requests it again
		}
	}
}
