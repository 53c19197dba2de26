package replica

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

const (
	// snapshotThreshold is the number of entries after which the log is cut, if its bytes do not
	// require it sooner (see growth): at most this many are applied again at the next start, which
	// takes some 100 ms.
	snapshotThreshold = 8192
	// snapshotInterval is how often Raft checks the threshold.
	snapshotInterval = time.Minute
	// trailingLogs entries stay in the log after a snapshot. Replicas that lag need no more, since
	// all entries after the snapshot before stay, too (guard.Log.KeepFrom), and an entry can have
	// MiB. It must not be 0: a cut up to the last entry would be one of the log's end.
	trailingLogs = 8
	// maxAppendEntries is how many entries a replica that lags is sent in one call, which has to
	// end within a step's time even if each entry has MiB.
	maxAppendEntries = 16
	// electionTimeout is how long a replica waits for heartbeats before it stands for election,
	// plus up to as much again at random: another replica leads within two seconds, even after one
	// split vote, and a machine under load is not taken for dead. A single replica does not wait,
	// see electNow.
	electionTimeout = 500 * time.Millisecond
	// leaseTimeout is how long a leader without contact to a majority goes on: it steps down before
	// the others have elected another.
	leaseTimeout = 400 * time.Millisecond
)

func (r *Replica) start(stores *stores, options Options) error {
	changes := make(chan bool, 8)
	config := raftConfig(options.Name, r.logger, changes)
	config.HeartbeatTimeout *= options.electionFactor
	config.ElectionTimeout *= options.electionFactor
	config.LeaderLeaseTimeout *= options.electionFactor
	r.transport = newTransport(options, config)
	us := raft.Server{ID: config.LocalID, Address: r.transport.LocalAddr()}
	if !stores.existing && options.Start == StartNever {
		return fmt.Errorf(
			"%w %q is empty, and this server had a state. If the cluster has others: run 'scored server remove %s' there, remove the certificates here, and join it with a new token. If it has none, to start over: 'scored server --begin'",
			ErrDirectory,
			options.Dir,
			options.Name,
		)
	}
	if !stores.existing && options.Start == StartCluster {
		first := raft.Configuration{Servers: []raft.Server{us}}
		if err := raft.BootstrapCluster(config, stores.logs, stores.first, stores.snapshots, r.transport, first); err != nil {
			return fmt.Errorf("cannot start a new log: %w", err)
		}
	}
	if err := r.recordName(options, config, stores, us); err != nil {
		return err
	}
	node, err := stores.newRaft(config, (*machine)(r), r.transport)
	if err != nil {
		return fmt.Errorf("cannot read the log: %w", err)
	}
	r.raft = node
	r.transport.begin()
	r.stopped.Go(func() { r.watch(changes) })
	r.stopped.Go(r.boundLog)
	if options.Network != nil { // else no vote is waited for
		r.stopped.Go(func() { r.watchElections(config.ElectionTimeout) })
	}
	r.observeRaft()
	r.electNow()
	return nil
}

// recordName records the name in the directory and the log before other replicas exist.
func (r *Replica) recordName(options Options, config *raft.Config, stores *stores, us raft.Server) error {
	if !stores.nameless || options.Network == nil {
		return nil
	}
	if stores.existing {
		if err := rename(config, stores, r.transport, us); err != nil {
			return err
		}
	}
	return writeName(options.Dir, options.Name)
}

// rename sets the name and address of a single replica in its log.
func rename(config *raft.Config, stores *stores, transport raft.Transport, us raft.Server) error {
	next := raft.Configuration{Servers: []raft.Server{us}}
	if err := raft.RecoverCluster(config, scratch(), stores.logs, stores.stable, stores.snapshots, transport, next); err != nil {
		return fmt.Errorf("cannot name this server in the log: %w", err)
	}
	return nil
}

func raftConfig(name string, logger *zap.Logger, changes chan<- bool) *raft.Config {
	config := raft.DefaultConfig()
	config.LocalID = raft.ServerID(name)
	config.HeartbeatTimeout = electionTimeout
	config.ElectionTimeout = electionTimeout
	config.LeaderLeaseTimeout = leaseTimeout
	config.SnapshotThreshold = snapshotThreshold
	config.SnapshotInterval = snapshotInterval
	config.TrailingLogs = trailingLogs
	config.MaxAppendEntries = maxAppendEntries
	config.NotifyCh = changes
	config.ShutdownOnRemove = false // removal is reported to the server, which then stops in order
	config.NoLegacyTelemetry = true
	config.Logger = newRaftLogger(logger)
	return config
}

// electNow makes a replica that is the only voter stand for election now (with TimeoutNow of Raft's
// leadership transfer): no other replica could send it heartbeats.
func (r *Replica) electNow() {
	list, err := r.Servers()
	if err != nil {
		return
	}
	voters := slices.DeleteFunc(list, func(s Server) bool { return !s.Voter })
	if len(voters) == 1 && voters[0].Name == r.name {
		r.transport.elect()
	}
}
