package channels

import (
	"fmt"
	"iter"
	"math/bits"
	"score/channels/abi"
	"score/flowctl"
	"sync/atomic"
)

// Flow is the state of flow control with a rank on another node, in the image
// itself. Whoever has the driver lock uses it. The error is ErrRank or ErrMemory.
func (img *Image) Flow(rank uint32) (*flowctl.Sender, *flowctl.Receiver, error) {
	if _, local := img.index(rank); local || rank >= img.layout.Ranks {
		return nil, nil, fmt.Errorf("%w: %d is not on another node", ErrRank, rank)
	}
	at := img.layout.Peer(rank)
	if err := img.ensure(at, abi.PeerBytes); err != nil {
		return nil, nil, err
	}
	s, r := img.mem.flow(at)
	return s, r, nil
}

// SetActive notes whether a rank on another node has something pending: the next
// driver looks at those only.
func (img *Image) SetActive(rank uint32, active bool) {
	word, bit := img.activeWord(rank/64), uint64(1)<<(rank%64)
	if had := atomic.LoadUint64(word)&bit != 0; had == active {
		return
	}
	if active {
		atomic.OrUint64(word, bit)
		return
	}
	atomic.AndUint64(word, ^bit)
}

func (img *Image) activeWord(i uint32) *uint64 {
	return img.mem.u64(img.layout.Active + uint64(i)*8)
}

// NextActive is the first active rank from the given one on.
func (img *Image) NextActive(from uint32) (rank uint32, ok bool) {
	for i := from / 64; i < (img.layout.Ranks+63)/64; i++ {
		set := atomic.LoadUint64(img.activeWord(i))
		if i == from/64 {
			set &= ^uint64(0) << (from % 64)
		}
		if set == 0 {
			continue
		}
		rank = i*64 + uint32(bits.TrailingZeros64(set))
		return rank, rank < img.layout.Ranks
	}
	return 0, false
}

// Active are the ranks that are active, in order. Those that become so behind the
// present one while the loop runs come too.
func (img *Image) Active() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for rank, ok := img.NextActive(0); ok && yield(rank); {
			rank, ok = img.NextActive(rank + 1)
		}
	}
}

// Place is where a rank stands among those of this node, if it is one.
func (img *Image) Place(rank uint32) (place int, ok bool) { return img.index(rank) }

// CountDamage counts a peer or a ring that was given up.
func (img *Image) CountDamage() { img.count(abi.Damaged, 1) }

// AddCounter adds to a counter; it is not for hot paths.
func (img *Image) AddCounter(c abi.Counter, n uint64) { img.count(c, n) }

// NoteGone tells the owner that a rank of another node is gone, and wakes it.
func (img *Image) NoteGone() {
	atomic.AddUint32(img.statusWord(abi.StatusGoneAt), 1)
	img.Wake()
}

// GoneCount moves when a rank of the job is marked as gone.
func (img *Image) GoneCount() uint32 { return img.goneCount() }
