package replica

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

const (
	// configTimeout bounds the wait of a membership change for the previous one.
	configTimeout = 10 * time.Second
	// MaxServers bounds a cluster's servers: more are slower and no safer.
	MaxServers = 9
)

// Refusals of membership changes; the wrapping sentence says what to do.
var (
	ErrUnknownServer = errors.New("no such server")
	ErrServers       = errors.New("the change of the servers is refused")
	// ErrNotLeader: this replica does not lead; nothing was changed.
	ErrNotLeader = errors.New("this server does not lead now; try again")
	// ErrUnchanged: Raft refused the change; the log has the reason.
	ErrUnchanged = errors.New(
		"the servers were not changed, as another change of them was under way, or the next leader was not ready; try again, and look at this server's log if that does not help",
	)
)

// Server is a member of the cluster, as its log knows it.
type Server struct {
	Name    string
	Address string // host:port for the other servers
	Voter   bool   // false: it is still catching up
	Leader  bool
	// Silent is the time since which the server has not answered the leader. It is zero if it
	// answers, or if this replica does not lead.
	Silent time.Time
	// Behind is the number of entries that the server lacked in its last answer to this replica,
	// and RoundTrip the average duration of its answers. Both are 0 if this replica does not lead.
	Behind    uint64
	RoundTrip time.Duration
}

// Name returns this replica's name.
func (r *Replica) Name() string { return r.name }

// LastIndex returns the index of this replica's last entry.
func (r *Replica) LastIndex() uint64 { return r.raft.LastIndex() }

// Servers returns the servers by name, by the latest configuration that this replica has.
func (r *Replica) Servers() ([]Server, error) {
	future := r.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return nil, translateError(err)
	}
	leader, _ := r.Leader()
	term, last := r.raft.CurrentTerm(), r.raft.LastIndex()
	var list []Server
	for _, s := range future.Configuration().Servers {
		next := Server{
			Name: string(s.ID), Address: string(s.Address), Voter: s.Suffrage == raft.Voter,
			Leader: string(s.ID) == leader,
		}
		c, known := r.transport.contact(next.Name, term)
		if leader == r.name {
			next.Silent = r.leaderWatch.silentSince(next.Name, c.sent)
		}
		if known && leader == r.name {
			next.Behind, next.RoundTrip = last-min(c.last, last), c.roundTrip
		}
		list = append(list, next)
	}
	slices.SortFunc(list, func(x, y Server) int { return cmp.Compare(x.Name, y.Name) })
	return list, nil
}

// find returns the server with this name.
func find(list []Server, name string) (Server, bool) {
	i := slices.IndexFunc(list, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return Server{}, false
	}
	return list[i], true
}

// Enrol makes a server a member, or records its new address, and reports whether it votes. A new
// server gets the log first; it becomes a voter when it asks again and lacks at most maxVoterLag
// entries; last is the index of its last entry. A server with an empty log never votes, however
// short the cluster's log: it could not tell later that it had been a member.
func (r *Replica) Enrol(name, address string, last uint64) (voter bool, err error) {
	list, err := r.Servers()
	if err != nil {
		return false, err
	}
	s, known := find(list, name)
	switch {
	case !known && len(list) >= MaxServers:
		return false, fmt.Errorf("%w: there are %d servers, the most that a cluster may have; remove one with 'scored server remove'", ErrServers, MaxServers)
	case known && s.Voter && s.Address == address:
		return true, nil
	case known && s.Voter:
		return true, r.awaitChange(r.raft.AddVoter(raft.ServerID(name), raft.ServerAddress(address), 0, configTimeout))
	case known && s.Address == address && last > 0 && last+maxVoterLag >= r.raft.CommitIndex():
		err := r.awaitChange(r.raft.AddVoter(raft.ServerID(name), raft.ServerAddress(address), 0, configTimeout))
		return err == nil, err
	case known && s.Address == address:
		return false, nil
	}
	return false, r.awaitChange(r.raft.AddNonvoter(raft.ServerID(name), raft.ServerAddress(address), 0, configTimeout))
}

// maxVoterLag is how many entries a new voter may lack: what a busy cluster commits while it asks.
const maxVoterLag = 256

// Remove ends a server's membership. The error wraps ErrUnknownServer or ErrServers if it is
// refused.
func (r *Replica) Remove(name string) error {
	if err := r.MayRemove(name); err != nil {
		return err
	}
	return r.awaitChange(r.raft.RemoveServer(raft.ServerID(name), 0, configTimeout))
}

// MayRemove returns the error with which Remove would refuse.
func (r *Replica) MayRemove(name string) error {
	list, err := r.Servers()
	if err != nil {
		return err
	}
	s, known := find(list, name)
	if !known {
		return fmt.Errorf("%w: there is no server %q; 'scored server list' shows them", ErrUnknownServer, name)
	}
	if s.Voter {
		return checkMajorityWithout(list, name)
	}
	return nil
}

// checkMajorityWithout refuses to remove a voter if the others would have no majority without it.
func checkMajorityWithout(list []Server, name string) error {
	voters, answer := 0, 0
	for _, s := range list {
		if s.Name == name || !s.Voter {
			continue
		}
		voters++
		if s.Silent.IsZero() {
			answer++
		}
	}
	switch {
	case voters == 0:
		return fmt.Errorf("%w: %s is the only server; removing it would lose the cluster's state; add another one first", ErrServers, name)
	case answer < voters/2+1:
		return fmt.Errorf(
			"%w: of the %d servers that would be left %d answer, and %d are needed; start one of them first, or add one",
			ErrServers,
			voters,
			answer,
			voters/2+1,
		)
	}
	return nil
}

// StepDown transfers the leadership; it returns once another server was asked to lead.
func (r *Replica) StepDown() error {
	list, err := r.Servers()
	if err != nil {
		return err
	}
	next, ok := successor(list, r.name)
	if !ok {
		return fmt.Errorf("%w: no other server that could lead answers", ErrServers)
	}
	return r.awaitChange(r.raft.LeadershipTransferToServer(raft.ServerID(next.Name), raft.ServerAddress(next.Address)))
}

// successor returns the server that is best to lead in place of the one of that name: of those that
// answer the one that lacks least. Raft alone may choose one that does not answer, and fail.
func successor(list []Server, name string) (next Server, ok bool) {
	for _, s := range list {
		if !s.Voter || s.Name == name || !s.Silent.IsZero() {
			continue
		}
		if !ok || s.Behind < next.Behind {
			next, ok = s, true
		}
	}
	return next, ok
}

// awaitChange waits for a membership change.
func (r *Replica) awaitChange(future raft.Future) error {
	err := future.Error()
	if err == nil {
		return nil
	}
	if meaning := translateError(err); !errors.Is(meaning, err) {
		return meaning
	}
	r.logger.Warn("the servers were not changed", zap.Error(err))
	return ErrUnchanged
}
