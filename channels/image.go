package channels

import (
	"errors"
	"fmt"
	"os"
	"score/channels/abi"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Identity says whose context an image is.
type Identity struct {
	Job     uint64 // key of the job, not zero
	Rank    uint32
	Channel uint32
}

// Image is a context's memory as mapped by this process. Its methods may be
// called from several goroutines unless they say otherwise; Close may not run
// beside them.
type Image struct {
	Identity
	layout abi.Layout
	mem    memory
	file   *os.File // nil if the memory is not a mapping
	local  []uint32 // ranks of this node, ascending
	copied bool     // the memory is a copy, mapped by Copy

	pages []uint64 // one bit per page that this process knows to be allocated
}

// seals keep every mapping valid: nobody can shrink the file, and nobody can
// take the seals off. Writing stays allowed.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Create makes an image: empty, sealed, and mapped. local lists the ranks of
// the job on this node, id.Rank among them.
func Create(id Identity, g abi.Geometry, local []uint32) (*Image, error) {
	layout, err := g.WithDefaults().Layout()
	if err != nil {
		return nil, err
	}
	if err := checkLocal(id, layout, local); err != nil {
		return nil, err
	}
	file, err := newFile(fmt.Sprintf("score-ctx-%d-%d", id.Channel, id.Rank), layout)
	if err != nil {
		return nil, err
	}
	img, err := mapFile(file, layout.Total)
	if err != nil {
		file.Close()
		return nil, err
	}
	img.format(id, layout, local)
	return img, nil
}

// Attach maps an image that another process made. The image takes the file over,
// also when Attach fails.
func Attach(file *os.File) (*Image, error) {
	img, err := attach(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return img, nil
}

func attach(file *os.File) (*Image, error) {
	size, err := sealedSize(file)
	if err != nil {
		return nil, err
	}
	img, err := mapFile(file, size)
	if err != nil {
		return nil, err
	}
	if err := img.adopt(); err != nil {
		_ = unix.Munmap(img.mem) // the caller gets the first error
		return nil, err
	}
	return img, nil
}

// newFile makes the sealed file and allocates what every context touches.
func newFile(name string, layout abi.Layout) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	file := os.NewFile(uintptr(fd), name)
	err = unix.Ftruncate(fd, int64(layout.Total))
	if err == nil {
		err = allocate(fd, 0, layout.Fixed())
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	return file, nil
}

// allocate makes the system find the memory now. Without that, a page fault
// would find that there is none, and kill.
func allocate(fd int, at, length uint64) error {
	for {
		err := unix.Fallocate(fd, 0, int64(at), int64(length))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// sealedSize is the size of a file that can never be shorter.
func sealedSize(file *os.File) (uint64, error) {
	got, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || got&seals != seals {
		return 0, ErrSeals
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if st.Size < abi.PageBytes || st.Size > maxImage {
		return 0, fmt.Errorf("%w: %d bytes", ErrDamaged, st.Size)
	}
	return uint64(st.Size), nil
}

// maxImage bounds what an image can make this process map: all lanes at their
// largest, and the peers of the largest job.
const maxImage = abi.MaxLanes*abi.MaxRing + abi.MaxRanks*abi.PeerBytes + 1<<30

func mapFile(file *os.File, size uint64) (*Image, error) {
	mem, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: mapping %d bytes: %w", ErrMemory, size, err)
	}
	return &Image{mem: mem, file: file}, nil
}

func checkLocal(id Identity, layout abi.Layout, local []uint32) error {
	if id.Job == 0 || id.Rank >= layout.Ranks {
		return fmt.Errorf("%w: rank %d of %d in job %d", ErrRank, id.Rank, layout.Ranks, id.Job)
	}
	if len(local) != int(layout.LocalRanks) || !ascending(local, layout.Ranks) {
		return fmt.Errorf("%w: the ranks of a node must be ascending and as many as the geometry says", ErrRank)
	}
	if _, ok := slices.BinarySearch(local, id.Rank); !ok {
		return fmt.Errorf("%w: rank %d is not among the ranks of its node", ErrRank, id.Rank)
	}
	return nil
}

func ascending(ranks []uint32, size uint32) bool {
	for i, r := range ranks {
		if r >= size || i > 0 && r <= ranks[i-1] {
			return false
		}
	}
	return true
}

// format writes what the maker writes.
func (img *Image) format(id Identity, layout abi.Layout, local []uint32) {
	img.mem.setHeader(layout.Header(id.Job, id.Rank, id.Channel))
	for i, r := range local {
		*img.mem.u32(layout.Local + uint64(i)*4) = r
	}
	for lane := uint32(1); lane < layout.Lanes; lane++ {
		*img.mem.u64(layout.Lane(lane) + abi.LaneOwnerAt) = abi.LaneWithheld
	}
	img.use(id, layout, slices.Clone(local))
}

// adopt checks what the maker wrote, on a copy.
func (img *Image) adopt() error {
	h := img.mem.header()
	layout, err := h.Check(uint64(len(img.mem)))
	if err != nil {
		return err
	}
	local := make([]uint32, layout.LocalRanks)
	for i := range local {
		local[i] = atomic.LoadUint32(img.mem.u32(layout.Local + uint64(i)*4))
	}
	id := Identity{Job: h.Job, Rank: h.Rank, Channel: h.Channel}
	if err := checkLocal(id, layout, local); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	img.use(id, layout, local)
	return nil
}

func (img *Image) use(id Identity, layout abi.Layout, local []uint32) {
	img.Identity, img.layout, img.local = id, layout, local
	pages := layout.Total / abi.PageBytes
	img.pages = make([]uint64, pages/64+1)
}

// Geometry is what the image was made with.
func (img *Image) Geometry() abi.Geometry { return img.layout.Geometry }

// Local lists the ranks of the job on this node; the caller must not change it.
func (img *Image) Local() []uint32 { return img.local }

// File is the descriptor to hand to other processes. It belongs to the image.
func (img *Image) File() *os.File { return img.file }

// Close unmaps the image. Messages and buffers of it must not be used any more.
// The memory is freed when the last process has closed it.
func (img *Image) Close() error {
	if img.copied {
		mem := img.mem
		img.mem = nil
		return unix.Munmap(mem)
	}
	if img.file == nil {
		return nil
	}
	err := unix.Munmap(img.mem)
	img.mem = nil
	return errors.Join(err, img.file.Close())
}

// ensure allocates a part of the image before its first use. Memory that is
// there already costs a look at a map.
func (img *Image) ensure(at, length uint64) error { return img.ensureAhead(at, length, at+length) }

// aheadBytes is what ensureAhead allocates, and ensureAll maps, at once. A system call and a fault
// for each page take as long as a message of 2 KiB; a rank that exchanges little shall have little
// memory.
const aheadBytes = 64 << 10

// ensureAhead is ensure for a part of a region that is used in order, up to end: it allocates some
// of what follows, too.
func (img *Image) ensureAhead(at, length, end uint64) error {
	first, last := at/abi.PageBytes, (at+length-1)/abi.PageBytes
	for p := first; p <= last; p++ {
		if atomic.LoadUint64(&img.pages[p/64])&(1<<(p%64)) == 0 {
			ahead := ((last+1)*abi.PageBytes + aheadBytes - 1) &^ (aheadBytes - 1)
			return img.ensureAll(p, max(last, min(ahead, end)/abi.PageBytes-1))
		}
	}
	return nil
}

func (img *Image) ensureAll(first, last uint64) error {
	if img.file != nil {
		at, length := first*abi.PageBytes, (last-first+1)*abi.PageBytes
		if err := allocate(int(img.file.Fd()), at, length); err != nil {
			return fmt.Errorf("%w: %w", ErrMemory, err)
		}
		if length > abi.PageBytes {
			// Of a whole lane most programs use the start alone; faults map the rest, and each page
			// on kernels before 5.14, where this fails.
			_ = unix.Madvise(img.mem[at:at+min(length, aheadBytes)], unix.MADV_POPULATE_WRITE)
		}
	}
	for p := first; p <= last; p++ {
		atomic.OrUint64(&img.pages[p/64], 1<<(p%64))
	}
	return nil
}

// discard gives a part of the image back to the system; it reads as zero from then on. The part is
// whole pages, and nobody uses it until it is ensured.
func (img *Image) discard(at, length uint64) {
	if img.file == nil {
		return
	}
	_ = unix.Fallocate(int(img.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(at), int64(length))
	for p := at / abi.PageBytes; p < (at+length)/abi.PageBytes; p++ {
		atomic.AndUint64(&img.pages[p/64], ^uint64(1<<(p%64)))
	}
}

// index is the rank's place among the ranks of this node.
func (img *Image) index(rank uint32) (int, bool) { return slices.BinarySearch(img.local, rank) }
