package local

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/channels/node"
	"score/channels/rankmap"
)

// Hub holds the contexts of a job whose ranks are all on this machine, on one node or on
// several that it plays, and hands them out. Its methods may be called from several goroutines.
type Hub struct {
	perNode int
	nodes   []*node.Node
	jobs    []*node.Job // by node
}

// ErrClosed means that the hub was closed.
var ErrClosed = errors.New("local: closed")

// resident is what the contexts of the largest job of one node need.
const resident = abi.MaxLocal * node.MaxChannels

// NewHub makes a hub for the ranks of one node. What is zero in the geometry gets its default.
func NewHub(ranks int, g abi.Geometry) (*Hub, error) { return newHub(1, ranks, g) }

// NewCluster makes a hub for several nodes with ranksPerNode ranks each: the first ones on the
// first node. Messages between nodes go through UDP sockets of the loopback device, or by TIPC if
// the environment variable SCORE_LINK is "tipc", in this process's part with the faults of the
// environment variable SCORE_LINK_FAULTS.
func NewCluster(nodes, ranksPerNode int, g abi.Geometry) (*Hub, error) {
	if nodes < 1 || nodes > rankmap.MaxNodes {
		return nil, fmt.Errorf("local: %d nodes, want 1 to %d", nodes, rankmap.MaxNodes)
	}
	return newHub(nodes, ranksPerNode, g)
}

func newHub(nodes, ranks int, g abi.Geometry) (*Hub, error) {
	if ranks < 1 || ranks > abi.MaxLocal {
		return nil, fmt.Errorf("local: %d ranks, want 1 to %d", ranks, abi.MaxLocal)
	}
	h := &Hub{perNode: ranks}
	if err := h.start(nodes, g); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Hub) start(nodes int, g abi.Geometry) error {
	faults, err := link.FaultsFromEnvironment()
	if err != nil {
		return err
	}
	transport, err := link.TransportFromEnvironment()
	if err != nil {
		return err
	}
	config := node.Config{Geometry: g, Resident: resident, Faults: faults, Link: transport}
	if nodes > 1 {
		config.Address = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	for range nodes {
		n, err := node.Open(config)
		if err != nil {
			return err
		}
		h.nodes = append(h.nodes, n)
	}
	return h.add(newKey(), transport)
}

func newKey() uint64 {
	var key [8]byte
	_, _ = rand.Read(key[:]) // it never fails
	return binary.LittleEndian.Uint64(key[:]) | 1
}

// add adds the job to all nodes.
func (h *Hub) add(key uint64, transport link.Transport) error {
	ranks, directories := make([]uint32, h.perNode), make([]link.Address, len(h.nodes))
	for i := range ranks {
		ranks[i] = uint32(i)
	}
	nodeOf := make([]uint32, 0, len(h.nodes)*h.perNode)
	names := link.NamesOf(tipc.DefaultType, key, uint32(len(h.nodes)), uint32(h.Ranks()))
	for i, n := range h.nodes {
		if directories[i] = link.AddressOf(n.Directory()); transport == link.TIPC {
			directories[i] = names.Directory(uint32(i))
		}
		for range h.perNode {
			nodeOf = append(nodeOf, uint32(i))
		}
	}
	for i, n := range h.nodes {
		config := node.JobConfig{Key: key, Ranks: ranks}
		if len(h.nodes) > 1 {
			where, err := rankmap.New(uint32(i), directories, nodeOf)
			if err != nil {
				return err
			}
			config.Ranks, config.Places = nil, where
		}
		job, err := n.Add(config)
		if err != nil {
			return err
		}
		h.jobs = append(h.jobs, job)
	}
	return nil
}

// Ranks returns how many ranks the job has.
func (h *Hub) Ranks() int { return h.perNode * len(h.nodes) }

// Job is the job as the rank's node has it.
func (h *Hub) Job(rank int) *node.Job { return h.jobs[rank/h.perNode] }

// Connect returns the socket for a rank, to be passed to pm.Join or to a process.
func (h *Hub) Connect(rank int) (*os.File, error) {
	if rank < 0 || rank >= h.Ranks() {
		return nil, fmt.Errorf("%w: %d of %d", channels.ErrRank, rank, h.Ranks())
	}
	conn, file, err := handover.Pair()
	if err != nil {
		return nil, err
	}
	if err := h.Job(rank).Serve(conn, uint32(rank)); err != nil {
		file.Close()
		return nil, closed(err)
	}
	return file, nil
}

// Image is the context of a channel and rank, made at the first call. It belongs to the hub.
func (h *Hub) Image(channel, rank uint32) (*channels.Image, error) {
	if int(rank) >= h.Ranks() {
		return nil, fmt.Errorf("%w: %d of %d", channels.ErrRank, rank, h.Ranks())
	}
	img, err := h.Job(int(rank)).Image(channel, rank)
	return img, closed(err)
}

func closed(err error) error {
	if errors.Is(err, node.ErrClosed) {
		return ErrClosed
	}
	return err
}

// Ended reports that the rank's process ended. Channels that it had not closed are dead, and the
// other ranks are notified.
func (h *Hub) Ended(rank int) { h.Job(rank).Ended(uint32(rank)) }

// Close hangs up on all ranks and frees the contexts as far as no rank has them.
func (h *Hub) Close() error {
	var errs []error
	for _, n := range h.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}
