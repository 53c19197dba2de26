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

// termLeap is by how much the term grows where a log is not continued by those who
// made it: nobody who took part in their elections has come so far, so agents obey the
// new leader, and the old ones no more, should one of those come back.
const termLeap = 1 << 20

// What Plant and Recover refuse; nothing was changed.
var (
	// ErrUsed: the directory holds a server's data already.
	ErrUsed = errors.New("the data directory has been used")
	// ErrAlone: there is no other server that could be lost.
	ErrAlone = errors.New("there is nothing to recover")
)

// OfflineServer is the data directory of a server that does not run.
type OfflineServer struct {
	// Dir is the data directory.
	Dir string
	// Name and Address are the server's, as in Options. Name empty: a cluster without
	// certificates, which has no other servers.
	Name, Address string
	// Logger gets what Raft says. Nil: nothing.
	Logger *zap.Logger
}

func (p OfflineServer) options() Options {
	o := Options{Dir: p.Dir, Name: p.Name, Address: p.Address, Logger: p.Logger}
	if p.Name != "" {
		o.Network = noNetwork{}
	}
	return o.withDefaults()
}

// noNetwork is the network of a server that does not run. Nobody calls it.
type noNetwork struct{ Network }

// Bootstrap fills an empty data directory with a state, so that the replica that is opened on
// it next is the only one of a cluster that goes on from there. Term is that of the leader
// who saved the state. The state is changed, see state.Resume.
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
	return writeFormat(filepath.Join(options.Dir, formatName)) // from now on the directory counts
}

// writeFirstSnapshot writes the state as a snapshot of the first entry.
func (s *stores) writeFirstSnapshot(options Options, from *state.State, term uint64) error {
	const first = 1
	us, transport := alone(options)
	sink, err := s.snapshots.Create(1, first, term, us, first, transport)
	if err != nil {
		return err
	}
	if err := (snapshot{from.Image()}).Persist(sink); err != nil {
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

// alone is the configuration of this server as the only one.
func alone(options Options) (raft.Configuration, raft.Transport) {
	address, transport := raft.NewInmemTransport(raft.ServerAddress(options.Address))
	return raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(options.Name), Address: address}}}, transport
}

// Survey describes a data directory.
type Survey struct {
	Servers []Server // of the cluster, this one among them
	Entry   uint64   // the last that this one has
}

// Recover makes the replica of a data directory the only one of its cluster, which then
// goes on from what this one has. What only the others have is lost, though it was
// acknowledged. Agree is shown what was found; unless it returns true nothing is changed.
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
		return fmt.Errorf("%w: this server, %s, is none of the cluster's (%s); recover one that is", ErrAlone, options.Name, names(survey.Servers))
	case len(survey.Servers) == 1:
		return fmt.Errorf("%w: this server is the only one of its cluster; start it", ErrAlone)
	case !agree(survey):
		return nil
	}
	term, err := s.stable.GetUint64(termKey)
	if err != nil {
		return fmt.Errorf("%w: its term cannot be read: %w", ErrDirectory, err)
	}
	// The term first: alone it changes nothing.
	if err := s.first.SetUint64(termKey, term+termLeap); err != nil {
		return err
	}
	us, transport := alone(options)
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
	_, transport := alone(options)
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

// scratch returns a machine that applies entries for nobody.
func scratch() *machine {
	return (*machine)(&Replica{state: state.New(), logger: zap.NewNop()})
}
