package rpc

import (
	"context"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/replica"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// serverPatience bounds the wait for one server's answer: a server that hangs must not delay the
// list.
const serverPatience = time.Second

// askServers asks all servers at once for their disks and versions, and fills in the answers.
func (u users) askServers(ctx context.Context, servers []*scorev1.Server) {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	var asking sync.WaitGroup
	for _, s := range servers {
		if s.GetSilentNanos() != 0 {
			continue
		}
		asking.Go(func() { s.Disk = u.diskOf(ctx, s.GetName()) })
		asking.Go(func() { s.Program = u.programOf(ctx, s.GetName()) })
	}
	asking.Wait()
}

// programOf returns nil if the server does not answer.
func (u users) programOf(ctx context.Context, name string) *scorev1.ProgramVersion {
	program, err := u.Describe(ctx, name)
	if err != nil {
		return nil
	}
	return program
}

// diskOf returns nil if the server does not answer.
func (u users) diskOf(ctx context.Context, name string) *scorev1.Disk {
	if name == u.Servers.Name() {
		disk, err := u.Servers.Disk()
		if err != nil {
			return nil
		}
		return diskView(disk)
	}
	reply, err := u.PeerServer(name).GetDisk(ctx, connect.NewRequest(new(agentpb.GetDiskRequest)))
	if err != nil {
		return nil
	}
	return reply.Msg.GetDisk()
}

func diskView(d replica.Disk) *scorev1.Disk {
	return &scorev1.Disk{SlowestWriteNanos: d.SlowestWrite.Nanoseconds(), FreeBytes: d.FreeBytes, SizeBytes: d.SizeBytes}
}

// GetDisk implements ServerServiceHandler.
func (a agents) GetDisk(ctx context.Context, _ *connect.Request[agentpb.GetDiskRequest]) (*connect.Response[agentpb.GetDiskResponse], error) {
	if _, err := a.server(ctx); err != nil {
		return nil, err
	}
	disk, err := a.Servers.Disk()
	return respond(&agentpb.GetDiskResponse{Disk: diskView(disk)}, err)
}
