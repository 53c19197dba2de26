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

// Dump implements scorev1connect.PeerServiceHandler. It takes one dump at a time, which bounds its
// memory.
func (s PeerService) Dump(ctx context.Context, r *connect.Request[scorev1.DumpJobRequest], stream *dumpStream) error {
	if !s.jobs.dumping.TryLock() {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("node %s is taking another dump; try again", s.jobs.options.Node.Name))
	}
	defer s.jobs.dumping.Unlock()
	j := s.jobs.Get(r.Msg.GetJobId())
	if j == nil {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("job %d has no part on node %s any more", r.Msg.GetJobId(), s.jobs.options.Node.Name))
	}
	wanted := func(rank uint32) bool { return !r.Msg.GetOneRank() || rank == r.Msg.GetRank() }
	on := j.gangOn()
	all, err := j.dump(ctx, wanted)
	if errors.Is(err, dump.ErrTooLarge) {
		err = connect.NewError(
			connect.CodeResourceExhausted,
			fmt.Errorf("the channels of job %d on node %s take more than %d MiB; dump its ranks one by one", j.id, s.jobs.options.Node.Name, maxDump>>20),
		)
	}
	if err != nil {
		return err
	}
	on = on || j.gangOn()
	offset, _, _ := s.jobs.options.Clock.Reading()
	taken := realtime.Now() + offset
	for i := range all {
		if err := s.sendDump(stream, j.id, &all[i], on, taken); err != nil {
			return err
		}
		all[i].Pages = nil
	}
	return nil
}

func (j *Job) dump(ctx context.Context, wanted func(uint32) bool) (all []node.Dumped, err error) {
	j.withChannels(func(c *dataplane.Job) { all, err = c.Dump(ctx, wanted, maxDump, dumpTimeout) })
	return all, err
}

func (s PeerService) sendDump(stream *dumpStream, job uint64, d *node.Dumped, on bool, taken int64) error {
	head := &scorev1.DumpHead{Rank: d.Rank, Channel: d.Channel, Node: s.jobs.options.Node.Name, GangOn: on, Moving: d.Moving}
	if err := stream.Send(&scorev1.DumpPart{Part: &scorev1.DumpPart_Head{Head: head}}); err != nil {
		return err
	}
	out := bufio.NewWriterSize(dumpWriter{stream}, dumpChunk)
	err := dump.Write(out, dump.Head{
		Job: job, Rank: d.Rank, Channel: d.Channel, Node: s.jobs.options.Node.Name, TakenNanos: taken, GangOn: on, Moving: d.Moving,
	}, d.Pages)
	if err != nil {
		return err
	}
	return out.Flush()
}

// dumpWriter sends the written data.
type dumpWriter struct{ stream *dumpStream }

func (w dumpWriter) Write(data []byte) (int, error) {
	return len(data), w.stream.Send(&scorev1.DumpPart{Part: &scorev1.DumpPart_Data{Data: data}})
}
