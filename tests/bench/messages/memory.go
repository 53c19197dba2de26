package messages

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/channels/link/udp"
	"score/channels/rankmap"

	"golang.org/x/sys/unix"
)

const (
	// memoryRanks is the size of the job whose context is measured, memoryLocal how many of its
	// ranks a node has.
	memoryRanks = 1000
	memoryLocal = 4
	// peerRanks is the size of the job whose peers are: their entries fill pages.
	peerRanks  = 4096
	blockBytes = 512 // of st_blocks
)

// Memory is what a context takes, in bytes.
type Memory struct {
	Context  float64 // of a large job, when it was opened: its image, and a driver's heap
	PeerNew  float64 // of that, per peer with which there was nothing yet
	PeerIdle float64 // more in the image per peer with which there was something once
	Driver   float64 // more in the heap of each driver, process and agent, per such peer
}

// MeasureMemory makes contexts and looks at the memory that the system gave to them.
func MeasureMemory() (Memory, error) {
	small, _, err := contextBytes(2*memoryLocal, false)
	if err != nil {
		return Memory{}, err
	}
	large, _, err := contextBytes(memoryRanks, false)
	if err != nil {
		return Memory{}, err
	}
	fresh, talked, err := contextBytes(peerRanks, true)
	if err != nil {
		return Memory{}, err
	}
	return Memory{
		Context:  large.image + large.heap,
		PeerNew:  (fresh.image + fresh.heap - small.image - small.heap) / peerRanks,
		PeerIdle: (talked.image - fresh.image) / peerRanks,
		Driver:   (talked.heap - fresh.heap) / peerRanks,
	}, nil
}

// contextBytes makes a context of a job and says what it takes; and what after it had to
// do with all ranks on other nodes.
func contextBytes(ranks int, talk bool) (fresh, talked footprint, err error) {
	before := heap()
	img, d, err := newContext(ranks)
	if err != nil {
		return fresh, talked, err
	}
	defer func() { err = errors.Join(err, d.Close(), img.Close()) }()
	fresh, err = touched(img, before)
	if err != nil || !talk {
		return fresh, talked, err
	}
	d.Enter()
	for rank := memoryLocal; rank < ranks && err == nil; rank++ {
		err = d.Space(uint32(rank), 1)
	}
	d.Leave()
	if err != nil {
		return fresh, talked, err
	}
	talked, err = touched(img, before)
	runtime.KeepAlive(d)
	return fresh, talked, err
}

func newContext(ranks int) (*channels.Image, *drive.Driver, error) {
	local := make([]uint32, memoryLocal)
	for i := range local {
		local[i] = uint32(i)
	}
	socket, at, err := udp.Listen(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		return nil, nil, err
	}
	port, err := udp.New(socket)
	if err != nil {
		socket.Close()
		return nil, nil, err
	}
	where, err := memoryPlaces(ranks, link.AddressOf(at))
	if err != nil {
		return nil, nil, errors.Join(err, port.Close())
	}
	img, err := channels.Create(channels.Identity{Job: 1, Channel: 1}, abi.Geometry{Ranks: uint32(ranks), LocalRanks: memoryLocal}, local)
	if err != nil {
		return nil, nil, errors.Join(err, port.Close())
	}
	d, err := drive.New(img, port, where, abi.RoleProcess)
	if err != nil {
		return nil, nil, errors.Join(err, port.Close(), img.Close())
	}
	_, err = img.Inbox(nil)
	return img, d, err
}

// memoryPlaces has memoryLocal ranks on each node.
func memoryPlaces(ranks int, directory link.Address) (*rankmap.Map, error) {
	var directories []link.Address
	var nodes []uint32
	for rank := range ranks {
		nodes = append(nodes, uint32(rank/memoryLocal))
		if rank%memoryLocal == 0 {
			directories = append(directories, directory)
		}
	}
	return rankmap.New(0, directories, nodes)
}

// footprint is what was touched of an image, and of the heap.
type footprint struct{ image, heap float64 }

// touched is what the image has been given, and what the heap has more than before.
func touched(img *channels.Image, before uint64) (footprint, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(img.File().Fd()), &st); err != nil {
		return footprint{}, os.NewSyscallError("fstat", err)
	}
	return footprint{float64(st.Blocks) * blockBytes, float64(heap()) - float64(before)}, nil
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
