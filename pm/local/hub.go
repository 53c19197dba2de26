package local

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"score/channels"
	"score/channels/abi"
	"score/channels/handover"
)

// maxChannels bounds the contexts that one rank can make the hub hold.
const maxChannels = 16

// Hub holds the contexts of a job whose ranks are all on this machine, and
// hands them out. Its methods may be called from several goroutines.
type Hub struct {
	key      uint64
	geometry abi.Geometry
	local    []uint32

	mu     sync.Mutex
	closed bool
	images map[handover.Request]*channels.Image
	ended  map[uint32]bool
	conns  map[*net.UnixConn]struct{}
	serves sync.WaitGroup
}

// NewHub makes a hub for so many ranks. What is zero in the geometry gets its default.
func NewHub(ranks int, g abi.Geometry) (*Hub, error) {
	if ranks < 1 || ranks > abi.MaxLocal {
		return nil, fmt.Errorf("local: %d ranks, want 1 to %d", ranks, abi.MaxLocal)
	}
	g.Ranks, g.LocalRanks = uint32(ranks), uint32(ranks)
	g = g.WithDefaults()
	if err := g.Check(); err != nil {
		return nil, err
	}
	var key [8]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	h := &Hub{
		key: binary.LittleEndian.Uint64(key[:]) | 1, geometry: g,
		images: map[handover.Request]*channels.Image{}, ended: map[uint32]bool{}, conns: map[*net.UnixConn]struct{}{},
	}
	for r := range uint32(ranks) {
		h.local = append(h.local, r)
	}
	return h, nil
}

// ErrClosed says that the hub was closed.
var ErrClosed = errors.New("local: closed")

// Connect returns the socket for a rank, to be passed to pm.Join or to a process.
func (h *Hub) Connect(rank int) (*os.File, error) {
	conn, file, err := handover.Pair()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		_ = conn.Close()
		file.Close()
		return nil, ErrClosed
	}
	h.conns[conn] = struct{}{}
	h.serves.Go(func() {
		handover.Serve(conn, func(r handover.Request) (*os.File, handover.Status) { return h.serve(uint32(rank), r) })
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.conns, conn)
	})
	return file, nil
}

// serve answers a request of the rank.
func (h *Hub) serve(asker uint32, r handover.Request) (*os.File, handover.Status) {
	if r.Rank == handover.Own {
		r.Rank = asker
	}
	if int(r.Rank) >= len(h.local) {
		return nil, handover.StatusRank
	}
	if r.Channel >= maxChannels {
		return nil, handover.StatusChannel
	}
	img, err := h.Image(r.Channel, r.Rank)
	if err != nil {
		return nil, handover.StatusExhausted
	}
	return img.File(), handover.StatusOK
}

// Image is the context of a channel and rank, made at the first call. It belongs to the hub.
func (h *Hub) Image(channel, rank uint32) (*channels.Image, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	key := handover.Request{Channel: channel, Rank: rank}
	if img := h.images[key]; img != nil {
		return img, nil
	}
	img, err := channels.Create(channels.Identity{Job: h.key, Rank: rank, Channel: channel}, h.geometry, h.local)
	if err != nil {
		return nil, err
	}
	if h.ended[rank] {
		img.SetState(abi.StateGone)
	}
	h.images[key] = img
	h.replay(channel, img)
	return img, nil
}

// replay tells a new context of the deaths before it.
func (h *Hub) replay(channel uint32, img *channels.Image) {
	for dead := range h.ended {
		its := h.images[handover.Request{Channel: channel, Rank: dead}]
		if its != nil && its.State() == abi.StateGone && dead != img.Rank {
			_ = img.MarkPeerGone(dead) // as in tell
		}
	}
}

// Ended says that the rank's process ended. Channels that it had not closed
// are dead, and the other ranks are told.
func (h *Hub) Ended(rank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dead := uint32(rank)
	h.ended[dead] = true
	for key, img := range h.images {
		if key.Rank != dead || img.State() == abi.StateClosed {
			continue
		}
		img.SetState(abi.StateGone)
		h.tell(key.Channel, dead)
	}
}

// tell tells the other ranks of the channel about a death.
func (h *Hub) tell(channel, dead uint32) {
	for key, img := range h.images {
		if key.Channel == channel && key.Rank != dead {
			_ = img.MarkPeerGone(dead) // a rank that cannot be told learns it from the state
		}
	}
}

// Close hangs up on all ranks and frees the contexts as far as no rank has them.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	for conn := range h.conns {
		_ = conn.Close()
	}
	h.mu.Unlock()
	h.serves.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for key, img := range h.images {
		errs = append(errs, img.Close())
		delete(h.images, key)
	}
	return errors.Join(errs...)
}
