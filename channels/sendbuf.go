package channels

import (
	"fmt"
	"math/bits"
	"score/channels/abi"
	"score/channels/release"
	"score/flowctl"
	"sync/atomic"
)

// SendBuffer keeps messages for ranks on other nodes until they are
// acknowledged. Space is given out in granules of one line, noted in a map of
// one bit each; the messages of a peer are a list in the order of sending, whose ends
// are in the peer's entry. A slow peer so holds only its own messages back.
//
// Whoever has the driver lock uses it. All it reads from the image may be
// nonsense; then it says ErrDamaged, and no walk is longer than the buffer has granules.
type SendBuffer struct {
	img   *Image
	hint  uint32 // word of the map where the last search ended
	words uint32
}

// Kept names a message in the send buffer: index of its first granule + 1; 0 is none.
type Kept uint32

// SendBuffer gives access to the image's send buffer.
func (img *Image) SendBuffer() *SendBuffer {
	return &SendBuffer{img: img, words: img.layout.SendBytes / abi.LineBytes / 64}
}

func (b *SendBuffer) granules() uint32 { return b.words * 64 }

func (b *SendBuffer) word(i uint32) *uint64 {
	return b.img.mem.u64(b.img.layout.Granules + uint64(i)*8)
}

// granulesFor returns how many granules a message takes.
func granulesFor(length int) uint32 {
	return uint32((length + abi.KeptBytes + abi.LineBytes - 1) / abi.LineBytes)
}

// Reserve takes space for a message, to be filled and then appended, or freed.
// ErrFull if there is none, ErrTooLarge, ErrMemory.
func (b *SendBuffer) Reserve(length int) (Kept, []byte, error) {
	if length < 0 || length > int(b.img.layout.MaxMessage) {
		return 0, nil, ErrTooLarge
	}
	n := granulesFor(length)
	first, ok := b.find(n)
	if !ok {
		return 0, nil, ErrFull
	}
	l := &b.img.layout
	at := l.Send + uint64(first)*abi.LineBytes
	if err := b.img.ensureAhead(at, uint64(n)*abi.LineBytes, l.Send+uint64(l.SendBytes)); err != nil {
		return 0, nil, err
	}
	b.setBits(first, n, true)
	release.Store64(b.img.mem.u64(at), uint64(length)<<32) // no next message, and the length
	from := at + abi.KeptBytes
	return Kept(first + 1), b.img.mem[from : from+uint64(length) : from+uint64(length)], nil
}

// Messages returns how many messages there can be at most: no list is longer.
func (b *SendBuffer) Messages() int { return int(b.granules()) }

// Space reports whether Reserve would find space: nil, ErrFull or ErrTooLarge.
func (b *SendBuffer) Space(length int) error {
	if length < 0 || length > int(b.img.layout.MaxMessage) {
		return ErrTooLarge
	}
	if _, ok := b.find(granulesFor(length)); !ok {
		return ErrFull
	}
	return nil
}

// find looks for n free granules in a row, from where the last search ended.
func (b *SendBuffer) find(n uint32) (first uint32, ok bool) {
	if b.hint >= b.words/nearShareOfSendBuffer && atomic.LoadUint64(b.word(0)) == 0 {
		b.hint = 0
	}
	if n <= 64 {
		if first, ok = b.findShort(n); ok {
			return first, true
		}
	}
	if first, ok = b.findLong(n, b.hint, b.words); !ok {
		first, ok = b.findLong(n, 0, min(b.hint+n/64+2, b.words))
	}
	if ok {
		b.hint = first / 64
	}
	return first, ok
}

// findLong looks, from one word to before another, for n granules that go over the end of a word:
// what fits into one is findShort's.
func (b *SendBuffer) findLong(n, from, to uint32) (first uint32, ok bool) {
	run := uint32(0) // free granules right below the word
	for i := from; i < to; i++ {
		used := atomic.LoadUint64(b.word(i))
		if run+uint32(bits.TrailingZeros64(used)) >= n {
			return i*64 - run, true
		}
		if used == 0 {
			run += 64
			continue
		}
		run = uint32(bits.LeadingZeros64(used))
	}
	return 0, false
}

// findShort looks for n granules within one word of the map.
func (b *SendBuffer) findShort(n uint32) (first uint32, ok bool) {
	for i := range b.words {
		at := (b.hint + i) % b.words
		free := ^atomic.LoadUint64(b.word(at))
		// A bit stays where it and the n-1 above it are set.
		for have := uint32(1); have < n && free != 0; {
			step := min(have, n-have)
			free &= free >> step
			have += step
		}
		if free != 0 {
			b.hint = at
			return at*64 + uint32(bits.TrailingZeros64(free)), true
		}
	}
	return 0, false
}

// setBits marks granules as used or free; the range lies in the buffer.
func (b *SendBuffer) setBits(first, n uint32, used bool) {
	for n > 0 {
		bit := first % 64
		k := min(64-bit, n)
		mask, word := ^uint64(0)>>(64-k)<<bit, b.word(first/64)
		if used {
			release.Store64(word, atomic.LoadUint64(word)|mask)
		} else {
			release.Store64(word, atomic.LoadUint64(word)&^mask)
		}
		first, n = first+k, n-k
	}
}

// place checks a name and returns the offset of the message and its length.
func (b *SendBuffer) place(k Kept) (at uint64, length int, err error) {
	if k == 0 || uint32(k) > b.granules() {
		return 0, 0, fmt.Errorf("%w: message %d of the send buffer", ErrDamaged, k)
	}
	at = b.img.layout.Send + uint64(k-1)*abi.LineBytes
	if err := b.img.ensure(at, abi.LineBytes); err != nil {
		return 0, 0, err
	}
	length = int(atomic.LoadUint32(b.img.mem.u32(at + abi.KeptLengthAt)))
	if length > int(b.img.layout.MaxMessage) || uint32(k)-1+granulesFor(length) > b.granules() {
		return 0, 0, fmt.Errorf("%w: message of %d bytes in the send buffer", ErrDamaged, length)
	}
	return at, length, nil
}

// Bytes returns the message's bytes.
func (b *SendBuffer) Bytes(k Kept) ([]byte, error) {
	at, length, err := b.place(k)
	if err != nil {
		return nil, err
	}
	if err := b.img.ensure(at, uint64(length)+abi.KeptBytes); err != nil {
		return nil, err
	}
	from := at + abi.KeptBytes
	return b.img.mem[from : from+uint64(length) : from+uint64(length)], nil
}

// Free gives the space of a message that is in no list back.
func (b *SendBuffer) Free(k Kept) error {
	_, length, err := b.place(k)
	if err != nil {
		return err
	}
	b.setBits(uint32(k)-1, granulesFor(length), false)
	return nil
}

// Append puts a reserved message of the given number of frames at the end of the peer's list. first
// is the number of its first frame.
func (b *SendBuffer) Append(rank uint32, k Kept, first flowctl.Seq, frames uint32) error {
	at, _, err := b.place(k)
	if err != nil {
		return err
	}
	entry, err := b.entry(rank)
	if err != nil {
		return err
	}
	release.Store64(b.img.mem.u64(at+abi.KeptPeerAt), uint64(rank)|uint64(first)<<32)
	release.Store64(b.img.mem.u64(at+abi.KeptFramesAt), uint64(frames))
	last := Kept(atomic.LoadUint32(b.img.mem.u32(entry + abi.PeerLastAt)))
	if last == 0 {
		release.Store64(b.img.mem.u64(entry+abi.PeerFirstAt), uint64(k)|uint64(k)<<32)
		return nil
	}
	before, _, err := b.place(last)
	if err != nil {
		return err
	}
	atomic.StoreUint32(b.img.mem.u32(before), uint32(k))
	atomic.StoreUint32(b.img.mem.u32(entry+abi.PeerLastAt), uint32(k))
	return nil
}

// entry is where the peer's entry is.
func (b *SendBuffer) entry(rank uint32) (uint64, error) {
	if rank >= b.img.layout.Ranks {
		return 0, fmt.Errorf("%w: %d", ErrRank, rank)
	}
	at := b.img.layout.Peer(rank)
	return at, b.img.ensure(at, abi.PeerBytes)
}

// Oldest is the first message of the peer's list, or 0.
func (b *SendBuffer) Oldest(rank uint32) (Kept, error) {
	entry, err := b.entry(rank)
	if err != nil {
		return 0, err
	}
	return Kept(atomic.LoadUint32(b.img.mem.u32(entry + abi.PeerFirstAt))), nil
}

// Next is the message after k in its list, or 0.
func (b *SendBuffer) Next(k Kept) (Kept, error) {
	at, _, err := b.place(k)
	if err != nil {
		return 0, err
	}
	return Kept(atomic.LoadUint32(b.img.mem.u32(at))), nil
}

// Frames returns the number of the message's first frame, and how many frames it has.
func (b *SendBuffer) Frames(k Kept) (first flowctl.Seq, frames uint32, err error) {
	at, _, err := b.place(k)
	if err != nil {
		return 0, 0, err
	}
	first = flowctl.Seq(atomic.LoadUint32(b.img.mem.u32(at + abi.KeptFirstAt)))
	return first, atomic.LoadUint32(b.img.mem.u32(at + abi.KeptFramesAt)), nil
}

// Drop frees the oldest message of the peer's list: it was acknowledged. It is false if
// there is none.
func (b *SendBuffer) Drop(rank uint32) (bool, error) {
	entry, err := b.entry(rank)
	if err != nil {
		return false, err
	}
	k := Kept(atomic.LoadUint32(b.img.mem.u32(entry + abi.PeerFirstAt)))
	if k == 0 {
		return false, nil
	}
	at, length, err := b.place(k)
	if err != nil {
		return false, err
	}
	if next := atomic.LoadUint32(b.img.mem.u32(at)); next != 0 {
		atomic.StoreUint32(b.img.mem.u32(entry+abi.PeerFirstAt), next)
	} else {
		release.Store64(b.img.mem.u64(entry+abi.PeerFirstAt), 0)
	}
	b.setBits(uint32(k)-1, granulesFor(length), false)
	return true, nil
}

// Acknowledged frees all messages of the peer whose frames lie before upTo, and returns how many
// these were.
func (b *SendBuffer) Acknowledged(rank uint32, upTo flowctl.Seq) (int, error) {
	for n := 0; ; n++ {
		k, err := b.Oldest(rank)
		if err != nil || k == 0 || n > int(b.granules()) {
			return n, err
		}
		first, frames, err := b.Frames(k)
		if err != nil || upTo.Before(first+flowctl.Seq(frames)) {
			return n, err
		}
		if _, err := b.Drop(rank); err != nil {
			return n, err
		}
	}
}
