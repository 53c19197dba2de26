package replica

import (
	"time"

	"github.com/hashicorp/raft"
)

// transport is Raft's transport with what Replica needs beyond it.
type transport interface {
	raft.Transport
	Close() error
	// begin starts the transport once Raft listens to it.
	begin()
	// elect makes this replica stand for election at once. If that fails, the election timeout
	// remains.
	elect()
	// followed counts the voters that have followed this replica in an answer to a call made since
	// an instant.
	followed(voters []Server, since time.Time) int
	// contact returns a server's last contact with this replica as the leader of a term; false:
	// there was none.
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

// lone is the transport of a single replica.
type lone struct{ *raft.InmemTransport }

func (l *lone) begin() {}

func (l *lone) elect() {
	// After an error the election timeout remains.
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
