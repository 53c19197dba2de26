package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"score/channels/dump"
	"score/channels/node"
	"score/nodeagent/dataplane"
	"score/nodeagent/realtime"
	"score/scored/api/scorev1"
	"time"

	"connectrpc.com/connect"
)

const (
	// maxDump bounds the memory of a dump, in bytes: the contexts of 64 busy ranks.
	maxDump = 256 << 20
	// dumpTimeout is how long a dump waits for an instant at which the contexts do not change: some
	// rotations of usual slices.
	dumpTimeout = time.Second
	// dumpChunk is the size of a file's part in one message, in bytes.
	dumpChunk = 256 << 10
)

type dumpStream = connect.ServerStream[scorev1.DumpPart]

// Dump implements agentpbconnect.PeerServiceHandler. It takes one dump at a time, which bounds its
// memory.
func (s PeerService) Dump(ctx context.Context, r *connect.Request[scorev1.DumpJobRequest], stream *dumpStream) error {
	own := &s.jobs.options.Node
	if !s.jobs.dumping.TryLock() {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("node %s is taking another dump; try again", own.Name))
	}
	defer s.jobs.dumping.Unlock()
	j := s.jobs.Get(r.Msg.GetJobId())
	if j == nil {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("%w any more", own.noPart(r.Msg.GetJobId())))
	}
	all, head, err := j.dump(ctx, func(rank uint32) bool { return !r.Msg.GetOneRank() || rank == r.Msg.GetRank() })
	if err != nil {
		return err
	}
	for i := range all {
		d := &all[i]
		head.Rank, head.Channel, head.Moving = d.Rank, d.Channel, d.Moving
		if err := sendDump(stream, head, d.Pages); err != nil {
			return err
		}
		d.Pages = nil
	}
	return nil
}

// dump dumps the contexts of the wanted ranks. It returns what the heads of all have in common.
func (j *Job) dump(ctx context.Context, wanted func(uint32) bool) (all []node.Dumped, head dump.Head, err error) {
	head = dump.Head{Job: j.id, Node: j.options.Node.Name, GangOn: j.gangOn()}
	j.withChannels(func(c *dataplane.Job) { all, err = c.Dump(ctx, wanted, maxDump, dumpTimeout) })
	if errors.Is(err, dump.ErrTooLarge) {
		err = connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("the channels of job %d on node %s take more than %d MiB; dump its ranks one by one", j.id, head.Node, maxDump>>20))
	}
	head.GangOn = head.GangOn || j.gangOn()
	offset, _, _ := j.options.Clock.Reading()
	head.TakenNanos = realtime.Now() + offset
	return all, head, err
}

// sendDump sends a context's head and its file.
func sendDump(stream *dumpStream, head dump.Head, pages *dump.Pages) error {
	first := &scorev1.DumpHead{Rank: head.Rank, Channel: head.Channel, Node: head.Node, GangOn: head.GangOn, Moving: head.Moving}
	if err := stream.Send(&scorev1.DumpPart{Part: &scorev1.DumpPart_Head{Head: first}}); err != nil {
		return err
	}
	out := bufio.NewWriterSize(dumpWriter{stream}, dumpChunk)
	if err := dump.Write(out, head, pages); err != nil {
		return err
	}
	return out.Flush()
}

// dumpWriter sends the written data.
type dumpWriter struct{ stream *dumpStream }

func (w dumpWriter) Write(data []byte) (int, error) {
	return len(data), w.stream.Send(&scorev1.DumpPart{Part: &scorev1.DumpPart_Data{Data: data}})
}
