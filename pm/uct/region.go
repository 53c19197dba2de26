package uct

import (
	"math"
	"score/pm/mem"
	"slices"
	"sync/atomic"
)

// Access says what peers may do with a region.
type Access uint8

// Rights of peers.
const (
	RemoteRead   Access = 1 << iota // Get
	RemoteWrite                     // Put
	RemoteAtomic                    // Atomic
	RemoteAll    = RemoteRead | RemoteWrite | RemoteAtomic
)

const (
	// tableSlots is how many regions peers of the node can reach by themselves at the same time;
	// further ones are served by their process. A slot costs 8 bytes.
	tableSlots = 4096
	// ownKeys is the first key that MD.Register chooses; those below are the caller's.
	ownKeys = 1 << 63
)

// MD is a memory domain: the memory of this process that peers may reach. It belongs to the
// goroutine of its workers.
type MD struct {
	regions    map[uint64]*Region
	next       uint64      // key
	gens       uint64      // generations given out
	table      *mem.Window // one word for each slot: the generation of the region there, 0 if none
	slots      []uint32    // free ones
	cache      *mem.Cache  // mappings of peers' windows
	cacheBytes int64
	exposed    exposures
	windows    []*Region
}

// NewMD returns an empty domain. cacheBytes bounds the mappings of peers' windows that are kept
// for further use; 0 means DefaultCacheBytes.
func NewMD(cacheBytes int64) *MD {
	if cacheBytes == 0 {
		cacheBytes = DefaultCacheBytes
	}
	return &MD{regions: map[uint64]*Region{}, next: ownKeys, cache: mem.NewCache(uint64(cacheBytes)), cacheBytes: cacheBytes}
}

// DefaultCacheBytes is address space more than memory: pages of a window are its owner's.
const DefaultCacheBytes = 1 << 30

// Region is memory that peers reach by its key.
type Region struct {
	md          *MD
	key         uint64
	base        uint64 // offset of the first byte, as peers count
	buf         []byte
	access      Access
	all         bool // buf is all memory of the process, which find looks at only as the system allows
	window      *mem.Window
	slot        uint32
	gen         uint64
	closed      bool
	incarnation uint32 // counts how often the memory was taken away; see regionUse
	notify      func(ep *EP, port uint8, access Access, length int)
	readsUnseen bool // no need to notify of reads by copies between the processes
}

// regionUse is a use of a region that goes on after the call that began it. If the memory is taken
// away meanwhile, the use is over, and ends with ErrKey at the peer: the memory may be gone when
// the next piece is moved.
type regionUse struct {
	region      *Region // nil: memory that nobody takes away
	incarnation uint32  // of region when the use began
}

func (r *Region) use() regionUse { return regionUse{r, r.incarnation} }

func (u *regionUse) over() bool { return u.region != nil && u.region.incarnation != u.incarnation }

// Register makes memory of this process reachable under a key that the domain chooses. The memory
// must not be on a goroutine's stack; what escapes to the heap is not.
func (md *MD) Register(buf []byte, access Access) (*Region, error) {
	return md.RegisterKey(md.nextKey(), buf, access)
}

func (md *MD) nextKey() uint64 {
	md.next++
	return md.next - 1
}

// RegisterKey makes memory reachable under a key of the caller's. The error is ErrKeyInUse.
func (md *MD) RegisterKey(key uint64, buf []byte, access Access) (*Region, error) {
	if md.regions[key] != nil {
		return nil, ErrKeyInUse
	}
	r := &Region{md: md, key: key, buf: buf, access: access}
	md.regions[key] = r
	return r, nil
}

// RegisterAll makes all memory of this process reachable, also what it will map later: offsets are
// addresses. An address without memory is an error of the peer's operation, ErrRange. What peers
// write over memory that the program did not mean is as if the program had done it. The error is
// ErrUnknowable.
//
// A wrong address may lie in Go's heap where nothing is allocated, so the runtime must let such
// pointers be: GODEBUG=invalidptr=0.
func (md *MD) RegisterAll(access Access) (*Region, error) {
	return md.RegisterAllKey(md.nextKey(), access)
}

// RegisterAllKey is RegisterAll with a key of the caller's. The error is ErrKeyInUse, too.
func (md *MD) RegisterAllKey(key uint64, access Access) (*Region, error) {
	if !mem.CanProbe() {
		return nil, ErrUnknowable
	}
	r, err := md.RegisterKey(key, nil, access)
	if err != nil {
		return nil, err
	}
	r.all = true
	return r, nil
}

// SetBase makes offsets of peers start at base instead of 0, for peers that name memory by the
// owner's addresses. Call it before the key is handed out.
func (r *Region) SetBase(base uint64) { r.base = base }

// Alloc allocates a window: memory that processes of this node reach by load and store.
func (md *MD) Alloc(size int, access Access) (*Region, error) {
	return md.AllocKey(md.nextKey(), size, access)
}

// AllocKey allocates a window with a key of the caller's. The error is ErrKeyInUse, or package
// mem's.
func (md *MD) AllocKey(key uint64, size int, access Access) (*Region, error) {
	w, err := mem.NewWindow(size)
	if err != nil {
		return nil, err
	}
	r, err := md.RegisterKey(key, w.Bytes()[:size:size], access)
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	r.window = w
	md.windows = append(md.windows, r)
	if err := r.publish(); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// publish enters the region into the table that peers of the node look at.
func (r *Region) publish() error {
	md := r.md
	if md.table == nil {
		t, err := mem.NewWindow(tableSlots * 8)
		if err != nil {
			return err
		}
		md.table = t
		for s := uint32(tableSlots); s > 0; s-- {
			md.slots = append(md.slots, s-1)
		}
	}
	if len(md.slots) == 0 {
		return nil // its process serves it
	}
	r.slot = md.slots[len(md.slots)-1]
	md.slots = md.slots[:len(md.slots)-1]
	md.gens++
	r.gen = md.gens
	atomic.StoreUint64(wordAt(md.table.Bytes(), int(r.slot)*8), r.gen)
	return nil
}

// publishCopied is publish for memory that peers of the node read by copies between the processes,
// which this process cannot observe. It reports whether they may.
func (r *Region) publishCopied() bool {
	if r.window != nil || r.all || r.notify != nil && !r.readsUnseen || len(r.buf) == 0 {
		return false
	}
	return r.publish() == nil && r.gen != 0
}

// Key names the region at its peers.
func (r *Region) Key() uint64 { return r.key }

// Bytes is the memory.
func (r *Region) Bytes() []byte { return r.buf }

// Notify sets the function that is called once for each served operation of a peer on the region,
// with the port that the peer named. access is RemoteAtomic|RemoteRead for an atomic that fetches,
// RemoteRead for one that only fetches. Notify disables access by load, store and copies between
// the processes, which this process could not observe; call it before the key is handed out.
func (r *Region) Notify(f func(ep *EP, port uint8, access Access, length int)) {
	r.notify, r.readsUnseen = f, false
	r.withdraw()
}

// NotifyWrites is Notify if nobody needs to learn of gets: peers may copy the memory.
func (r *Region) NotifyWrites(f func(ep *EP, port uint8, access Access, length int)) {
	r.Notify(f)
	r.readsUnseen = true
}

// SeeReads makes the functions of NotifyWrites learn of gets, too.
func (md *MD) SeeReads() {
	for _, r := range md.regions {
		if r.readsUnseen {
			r.readsUnseen = false
			r.withdraw()
		}
	}
}

// withdraw ends access without this process: peers find the generation changed.
func (r *Region) withdraw() {
	if r.gen == 0 {
		return
	}
	atomic.StoreUint64(wordAt(r.md.table.Bytes(), int(r.slot)*8), 0)
	r.md.slots = append(r.md.slots, r.slot)
	r.gen = 0
}

// Close makes the memory unreachable. Peers' operations that come later, and gets that are being
// answered, fail with ErrKey; one that is under way by load and store in another process may still
// touch a window.
func (r *Region) Close() error {
	if r.closed {
		return ErrClosed
	}
	r.closed = true
	r.incarnation++
	r.withdraw()
	delete(r.md.regions, r.key)
	r.md.windows = slices.DeleteFunc(r.md.windows, func(w *Region) bool { return w == r })
	w := r.window
	r.window, r.buf = nil, nil
	if w == nil {
		return nil
	}
	return w.Close()
}

// Close closes all regions.
func (md *MD) Close() error {
	for _, r := range md.regions {
		_ = r.Close()
	}
	if md.table != nil {
		_ = md.table.Close()
		md.table = nil
	}
	return nil
}

// find looks memory up for a peer's operation.
func (md *MD) find(key, offset, length uint64, want Access) (memory []byte, r *Region, why status) {
	return md.findPiece(key, offset, length, 0, length, want)
}

// findPiece is find for an operation that touches only the n bytes from at on now.
func (md *MD) findPiece(key, offset, length, at, n uint64, want Access) (memory []byte, r *Region, why status) {
	r = md.regions[key]
	if r == nil && key&exposedBit != 0 && want == RemoteRead {
		r = md.exposed.get(key)
	}
	switch {
	case r == nil:
		return nil, nil, statusKey
	case r.access&want == 0:
		return nil, nil, statusAccess
	}
	memory, ok := r.part(offset-r.base, length, at, n, want)
	if !ok {
		return nil, nil, statusRange
	}
	return memory, r, statusOK
}

// part returns length bytes of the region's memory. It reports false if the n bytes from at on,
// which are touched now, are not there.
func (r *Region) part(offset, length, at, n uint64, want Access) ([]byte, bool) {
	if !r.all {
		return cut(r.buf, offset, length)
	}
	if length == 0 {
		return nil, true
	}
	if offset > math.MaxInt64 || length > math.MaxInt64 || !mem.Present(offset+at, n, want != RemoteRead) {
		return nil, false
	}
	return memoryAt(offset, length), true
}

// cut returns length bytes from offset on; it is false if they are not all there.
func cut(memory []byte, offset, length uint64) ([]byte, bool) {
	if offset > uint64(len(memory)) || length > uint64(len(memory))-offset {
		return nil, false
	}
	return memory[offset : offset+length], true
}
