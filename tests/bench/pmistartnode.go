package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"score/channels/link"
	"score/channels/rankmap"
	"score/nodeagent/mpidirs"
	"score/nodeagent/realtime"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"score/scored/api/scorev1"
	"time"

	"golang.org/x/sys/unix"
)

// nodeStart is how long the phases of a start took on a node.
type nodeStart struct{ ready, forked, init, fenced time.Duration }

// oneNodeStart has a steward start the first node's part of the large job, and plays its agent and
// the other nodes.
func oneNodeStart(ctx context.Context, scored, work, program string, slot int) (took nodeStart, err error) {
	process, err := client.Start(client.Slot{Exe: scored, RunDir: work, Number: slot, Cluster: "bench", Node: "n0", Stderr: os.Stderr})
	if err != nil {
		return took, err
	}
	defer process.Kill()
	heard := make(chan *stewardpb.FromSteward, 2*startPerNode)
	gone := make(chan struct{})
	conn, _, err := client.Dial(ctx, process.Socket, client.Events{
		Message: func(m *stewardpb.FromSteward) { heard <- m }, Closed: func(error) { close(gone) },
	})
	if err != nil {
		return took, err
	}
	encoded := jobmap.Append(nil, startPlaces())
	ordered := realtime.Now()
	order, err := agentsPart(encoded, program, work)
	if err == nil {
		err = conn.Prepare(order)
	}
	if err != nil {
		return took, err
	}
	n := playedAgent{conn: conn, ordered: ordered}
	for n.took == (nodeStart{}) {
		select {
		case m := <-heard:
			if err := n.onMessage(m); err != nil {
				return took, err
			}
		case <-gone:
			return took, errors.New("the steward has ended")
		case <-ctx.Done():
			return took, ctx.Err()
		}
	}
	_ = conn.Forget() // it ends, or is killed
	return n.took, nil
}

func startPlaces() []*scorev1.NodePlace {
	all := make([]*scorev1.NodePlace, startNodes)
	for i := range all {
		p := &scorev1.NodePlace{Node: fmt.Sprintf("n%d", i), Address: fmt.Sprintf("10.0.%d.%d:7421", i/256, i%256)}
		for k := range startPerNode {
			p.Ranks = append(p.Ranks, uint32(i*startPerNode+k))
		}
		for cpu := range runtime.NumCPU() {
			p.Cpus = append(p.Cpus, uint32(cpu))
		}
		all[i] = p
	}
	return all
}

// agentsPart is what the agent does with an order: it reads the places, and makes the map for
// channels of it.
func agentsPart(encoded []byte, program, work string) (*stewardpb.PrepareJob, error) {
	job := &agentpb.Prepare{
		JobId: 1, Map: encoded, UniverseSize: startNodes * startPerNode,
		Spec: &scorev1.JobSpec{
			Argv: []string{program}, WorkDir: work, Tasks: startNodes * startPerNode, Env: []string{"PATH=/usr/bin:/bin"},
			Stdin: scorev1.StdinMode_STDIN_MODE_NONE, Mpi: scorev1.MpiMode_MPI_MODE_PMI,
		},
		User: &scorev1.Identity{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())},
	}
	if err := jobmap.Expand(job); err != nil {
		return nil, err
	}
	directories, nodeOf := make([]link.Address, len(job.GetPlaces())), make([]uint32, startNodes*startPerNode)
	for i, p := range job.GetPlaces() {
		at, err := netip.ParseAddrPort(p.GetAddress())
		if err != nil {
			return nil, err
		}
		directories[i] = link.AddressOf(at)
		for _, rank := range p.GetRanks() {
			nodeOf[rank] = uint32(i)
		}
	}
	if _, err := rankmap.New(0, directories, nodeOf); err != nil {
		return nil, err
	}
	var ids []uint32
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	for cpu := 0; len(ids) < runtime.NumCPU(); cpu++ {
		if set.IsSet(cpu) {
			ids = append(ids, uint32(cpu))
		}
	}
	return &stewardpb.PrepareJob{Job: jobmap.Compact(job), CpuIds: ids, Node: "n0", Files: mpidirs.Name(mpidirs.Prefix("bench", "n0", work), 1)}, nil
}

// blocksLike are what all nodes give to the first fence, when the first has given its own: a
// length, a version, a kind, numbers of the job, the node and the fence, and cards (package pmi).
func blocksLike(own []byte) ([][]byte, error) {
	const versionAndKind = 2
	_, n := binary.Uvarint(own)
	if n <= 0 || len(own) < n+versionAndKind {
		return nil, errShortOutput
	}
	head, rest := own[n:n+versionAndKind], own[n+versionAndKind:]
	var numbers [3]uint64
	for i := range numbers {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, errShortOutput
		}
		numbers[i], rest = v, rest[n:]
	}
	blocks := startPieces()
	blocks[0] = own
	for node := 1; node < len(blocks); node++ {
		body := append([]byte(nil), head...)
		for _, v := range [...]uint64{numbers[0], uint64(node), numbers[2]} {
			body = binary.AppendUvarint(body, v)
		}
		body = append(body, blocks[node]...)
		blocks[node] = append(binary.AppendUvarint(nil, uint64(len(body))), body...)
	}
	return blocks, nil
}

// playedAgent answers a steward as an agent would.
type playedAgent struct {
	conn              *client.Conn
	ordered, launched int64
	took              nodeStart
}

func (n *playedAgent) onMessage(m *stewardpb.FromSteward) error {
	switch m := m.GetMessage().(type) {
	case *stewardpb.FromSteward_Prepared:
		if m.Prepared.GetError() != "" {
			return errors.New(m.Prepared.GetError())
		}
		n.launched = realtime.Now()
		return n.conn.Launch()
	case *stewardpb.FromSteward_Collective:
		pieces, err := blocksLike(m.Collective.GetData())
		if err != nil {
			return err
		}
		return n.conn.Collective(&stewardpb.CollectiveResult{Kind: m.Collective.GetKind(), Sequence: m.Collective.GetSequence(), Data: pieces})
	case *stewardpb.FromSteward_Abort:
		return errors.New(m.Abort.GetMessage())
	case *stewardpb.FromSteward_NodeDone:
		start := m.NodeDone.GetStart()
		if start.GetFenceNanos() == 0 {
			return errors.New("the ranks have not come through the fence")
		}
		n.took = nodeStart{
			ready:  time.Duration(start.GetReadyNanos() - n.ordered),
			forked: time.Duration(start.GetForkedNanos() - n.launched),
			init:   time.Duration(max(start.GetInitNanos()-start.GetForkedNanos(), 1)),
			fenced: time.Duration(start.GetFenceNanos() - start.GetExchangedNanos()),
		}
	}
	return nil
}
