package replica

import (
	"time"

	"github.com/hashicorp/raft"
)

// transport is Raft's, with what we need beyond it.
type transport interface {
	raft.Transport
	Close() error
	// begin starts what the transport needs, once Raft listens to it.
	begin()
	// elect has this replica stand for election at once. If it is lost, the election timeout
	// remains.
	elect()
	// followed counts those of the voters that were asked since an instant, and have answered that
	// they follow.
	followed(voters []Server, since time.Time) int
	// contact is what a server has answered to this replica as to the leader of a term; false:
	// nothing.
	contact(name string, term uint64) (contact, bool)
}

func newTransport(options Options, config *raft.Config) transport {
	if options.Network == nil {
		address, inside := raft.NewInmemTransport(loneName)
		inside.Connect(address, inside)
		return &lone{inside}
	}
	return newPeers(options.Network, options.Address, config)
}

// lone is the transport of a replica without others.
type lone struct{ *raft.InmemTransport }

func (l *lone) begin() {}

func (l *lone) elect() {
	// What is wrong with it the election timeout mends.
	_ = l.TimeoutNow(loneName, loneName, timeoutNow(), new(raft.TimeoutNowResponse))
}

func (l *lone) followed([]Server, time.Time) int { return 0 }

func (l *lone) contact(string, uint64) (contact, bool) { return contact{}, false }

func (p *peers) begin() { p.work.Go(p.forwardRequests) }

// Close ends the transport's connections.
func (p *peers) Close() error {
	p.once.Do(func() { close(p.stop) })
	p.work.Wait()
	return p.NetworkTransport.Close()
}
