package channels

import (
	"fmt"
	"score/channels/abi"
	"score/flowctl"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Inspection of an image that nobody uses: a copy that was read from a file.

// Copy is an image in memory of its own, empty until Page fills it. It is closed with Close.
func Copy(header abi.Header) (*Image, error) {
	layout, err := header.Check(header.TotalBytes)
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(-1, 0, int(layout.Total), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes for a copy: %w", ErrMemory, layout.Total, err)
	}
	img := &Image{mem: mem, copied: true}
	img.use(Identity{Job: header.Job, Rank: header.Rank, Channel: header.Channel}, layout, nil)
	return img, nil
}

// Page is the memory of a page of a copy, or nil if it has none of that number.
func (img *Image) Page(number uint32) []byte {
	at := uint64(number) * abi.PageBytes
	if at >= img.layout.Total {
		return nil
	}
	return img.mem[at : at+abi.PageBytes]
}

// Adopt checks a copy whose pages have all been filled in.
func (img *Image) Adopt() error { return img.adopt() }

// HeaderOf is the header in an image's first page.
func HeaderOf(page []byte) abi.Header { return memory(page).header() }

// SetHeader replaces the header in a copy of an image's first page.
func SetHeader(page []byte, h abi.Header) { memory(page).setHeader(h) }

// Queued is a record in a context's inbox.
type Queued struct {
	From   uint32 // rank
	Length int    // of the message in bytes
	Ring   string // where it lies
	State  string // empty: a whole message
	Head   []byte // its first bytes, at most 16
}

// queuedHead is how many bytes of a message are shown: enough for the head that layers above put
// there.
const queuedHead = 16

// Queue calls yield with the records in the inbox, ring by ring in the order of writing, until it
// returns false. The rank may have taken the first ones without giving them back.
func (img *Image) Queue(yield func(Queued) bool) {
	l := &img.layout
	shared := img.mem.ring(l.SharedRing, l.SharedBytes)
	end := img.sharedPos()
	head := atomic.LoadUint64(img.mem.u64(l.SharedControl))
	if !walk(shared, head, func(pos uint64) bool { return pos&posMask == end }, "shared", yield) {
		return
	}
	never := func(uint64) bool { return false }
	for lane := range l.Lanes {
		name, bytes := fmt.Sprintf("lane %d", lane), l.LaneBytes
		if lane == 0 {
			name, bytes = "network", l.NetBytes
		}
		head := atomic.LoadUint64(img.mem.u64(l.Lane(lane)))
		if !walk(img.mem.ring(l.LaneRing(lane), bytes), head, never, name, yield) {
			return
		}
	}
}

// walk goes through a ring, at most once round.
func walk(r ring, from uint64, end func(uint64) bool, name string, yield func(Queued) bool) bool {
	for pos := from; pos-from < r.lines() && !end(pos); {
		word := atomic.LoadUint64(r.commit(pos))
		if word == 0 {
			return true
		}
		if q, ok := record(r, pos, word); ok {
			q.Ring = name
			if !yield(q) {
				return false
			}
		}
		pos += linesOf(r, pos, word)
	}
	return true
}

// record describes a record that is or will be a message, unless it was given back.
func record(r ring, pos, word uint64) (q Queued, ok bool) {
	length, kind, rank := abi.Uncommit(word)
	q = Queued{From: rank, Length: length}
	if atomic.LoadUint32(r.mark(pos)) == 1 {
		return q, false
	}
	there := length
	switch kind {
	case abi.KindData:
	case abi.KindGrowing:
		q.State, there = growing(atomic.LoadUint32(r.progress(pos)), length)
	case abi.KindReserved:
		q.State, there = "being written", 0
	case abi.KindPad, abi.KindLane, abi.KindLaneEnd:
		return q, false
	default:
		q.State, there = "damaged", 0
	}
	q.Head = r.bytes(pos, min(there, queuedHead, int(linesOf(r, pos, word)*abi.LineBytes-abi.RecordBytes)))
	return q, true
}

// growing returns the state of a message whose tail is still being written, and how much of it is
// there.
func growing(progress uint32, length int) (state string, there int) {
	switch {
	case progress == abi.ProgressLost:
		return "lost", 0
	case int(progress) >= length:
		return "", length
	default:
		return fmt.Sprintf("%d bytes are there", progress), int(progress)
	}
}

// RanksOfPage are the ranks whose entries of the peer table lie in a page: from first to before
// end.
func (img *Image) RanksOfPage(number uint32) (first, end uint32) {
	l := &img.layout
	at := uint64(number) * abi.PageBytes
	if at < l.Peers || at >= l.Arrivals {
		return 0, 0
	}
	first = uint32((at - l.Peers) / abi.PeerBytes)
	return min(first, l.Ranks), min(first+abi.PageBytes/abi.PeerBytes, l.Ranks)
}

// KeptFor calls yield with the messages for a rank on another node that are not acknowledged yet,
// oldest first, until it returns false.
func (img *Image) KeptFor(rank uint32, yield func(length int, first flowctl.Seq, frames uint32) bool) error {
	b := img.SendBuffer()
	k, err := b.Oldest(rank)
	for steps := b.Messages(); err == nil && k != 0; steps-- {
		if steps == 0 {
			return fmt.Errorf("%w: a list without end in the send buffer", ErrDamaged)
		}
		var length int
		if _, length, err = b.place(k); err != nil {
			break
		}
		first, frames, framesErr := b.Frames(k)
		if framesErr != nil {
			return framesErr
		}
		if !yield(length, first, frames) {
			return nil
		}
		k, err = b.Next(k)
	}
	return err
}
