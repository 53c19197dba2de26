package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/state"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// termLeap is added to the term when a log continues without the majority that made it. No earlier
// election can have got that far: agents follow the new leader, and ignore the old servers if one
// of them comes back.
const termLeap = 1 << 20

// Refusals of Bootstrap and Recover; nothing was changed.
var (
	// ErrUsed: the directory already has a server's data.
	ErrUsed = errors.New("the data directory has been used")
	// ErrAlone: there is no other server that could have been lost.
	ErrAlone = errors.New("there is nothing to recover")
)

// OfflineServer is the data directory of a server that is not running.
type OfflineServer struct {
	// Dir is the data directory.
	Dir string
	// Name and Address are as in Options. An empty Name means a cluster without certificates, which
	// has no other servers.
	Name, Address string
	// Logger gets Raft's lines. Nil: none.
	Logger *zap.Logger
}

func (p OfflineServer) options() Options {
	o := Options{Dir: p.Dir, Name: p.Name, Address: p.Address, Logger: p.Logger}
	if p.Name != "" {
		o.Network = noNetwork{}
	}
	return o.withDefaults()
}

// noNetwork is the network of a server that is not running. It is never used.
type noNetwork struct{ Network }

// Bootstrap writes a state into an empty data directory, so that a replica opened there is the only
// one of a cluster that continues from this state. Term is the term of the leader that saved the
// state. Bootstrap changes the state, see state.Resume.
func Bootstrap(place OfflineServer, from *state.State, term uint64) error {
	options := place.options()
	lock, err := lockDirectory(options.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Stat(filepath.Join(options.Dir, formatName)); err == nil {
		return fmt.Errorf("%w: %s holds the state of a cluster; to replace it stop the server, and empty or move the directory", ErrUsed, options.Dir)
	}
	if err := checkEmpty(options.Dir); err != nil {
		return err
	}
	from.Resume(time.Now().UnixNano())
	s := &stores{}
	err = s.openRaft(options)
	if err == nil {
		err = s.writeFirstSnapshot(options, from, term+termLeap)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return fmt.Errorf("%w; empty %s before the next attempt", err, options.Dir)
	}
	return writeFormat(filepath.Join(options.Dir, formatName)) // the directory is valid from here on
}

// writeFirstSnapshot writes the state as the snapshot of the first entry.
func (s *stores) writeFirstSnapshot(options Options, from *state.State, term uint64) error {
	const first = 1
	us, transport := singleServer(options)
	sink, err := s.snapshots.Create(1, first, term, us, first, transport)
	if err != nil {
		return err
	}
	if err := (snapshot{image: from.Image(), growth: newGrowth(minGrowth)}).Persist(sink); err != nil {
		return err
	}
	if err := s.first.SetUint64(termKey, term); err != nil {
		return err
	}
	if options.Network == nil {
		return nil
	}
	return writeName(options.Dir, options.Name)
}

// singleServer returns a configuration with this server only.
func singleServer(options Options) (raft.Configuration, raft.Transport) {
	address, transport := raft.NewInmemTransport(raft.ServerAddress(options.Address))
	return raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(options.Name), Address: address}}}, transport
}

// Survey describes a data directory.
type Survey struct {
	Servers []Server // of the cluster, including this one
	Entry   uint64   // index of the last entry
}

// Recover makes the replica in a data directory the only one of its cluster, which then continues
// from this replica's entries. Acknowledged entries that only the others have are lost. Recover
// passes agree what it has found, and changes nothing unless agree returns true.
func Recover(place OfflineServer, agree func(Survey) bool) error {
	if _, err := os.Stat(filepath.Join(place.Dir, formatName)); err != nil {
		return fmt.Errorf("%w: %s holds no state of a cluster", ErrAlone, place.Dir)
	}
	options := place.options()
	s, err := openStores(options)
	if err != nil {
		return err
	}
	return errors.Join(s.recover(options, agree), s.Close())
}

func (s *stores) recover(options Options, agree func(Survey) bool) error {
	survey, err := s.survey(options)
	switch {
	case err != nil:
		return err
	case len(survey.Servers) == 0:
		return fmt.Errorf("%w: this server was never a member of a cluster; join it to one, or start with an empty directory", ErrAlone)
	case !slices.ContainsFunc(survey.Servers, func(o Server) bool { return o.Name == options.Name }):
		return fmt.Errorf("%w: this server, %s, is not a member of the cluster (%s); recover one that is", ErrAlone, options.Name, names(survey.Servers))
	case len(survey.Servers) == 1:
		return fmt.Errorf("%w: this server is the only one of its cluster; start it", ErrAlone)
	case !agree(survey):
		return nil
	}
	term, err := s.stable.GetUint64(termKey)
	if err != nil {
		return fmt.Errorf("%w: its term cannot be read: %w", ErrDirectory, err)
	}
	// The term comes first: by itself it changes nothing.
	if err := s.first.SetUint64(termKey, term+termLeap); err != nil {
		return err
	}
	us, transport := singleServer(options)
	config := raftConfig(options.Name, options.Logger, nil)
	if err := raft.RecoverCluster(config, scratch(), s.logs, s.stable, s.snapshots, transport, us); err != nil {
		return fmt.Errorf("the cluster was not recovered; it may be tried again: %w", err)
	}
	return nil
}

func names(servers []Server) string {
	list := make([]string, 0, len(servers))
	for _, s := range servers {
		list = append(list, s.Name)
	}
	return strings.Join(list, ", ")
}

// survey finds the servers in the newest snapshot and the log.
func (s *stores) survey(options Options) (found Survey, err error) {
	_, transport := singleServer(options)
	config := raftConfig(options.Name, options.Logger, nil)
	servers, err := raft.GetConfiguration(config, scratch(), s.logs, s.stable, s.snapshots, transport)
	if err != nil {
		return found, fmt.Errorf("%w: its servers cannot be read: %w", ErrDirectory, err)
	}
	for _, server := range servers.Servers {
		found.Servers = append(found.Servers, Server{Name: string(server.ID), Address: string(server.Address), Voter: server.Suffrage == raft.Voter})
	}
	last, err := s.logs.LastIndex()
	if err != nil {
		return found, fmt.Errorf("%w: its log cannot be read: %w", ErrDirectory, err)
	}
	list, err := s.snapshots.List()
	if err != nil {
		return found, fmt.Errorf("%w: its snapshots cannot be listed: %w", ErrDirectory, err)
	}
	if found.Entry = last; len(list) > 0 {
		found.Entry = max(last, list[0].Index)
	}
	return found, nil
}

// scratch returns a machine without a replica.
func scratch() *machine {
	return (*machine)(&Replica{state: state.New(), logger: zap.NewNop(), growth: newGrowth(minGrowth)})
}
