package replica

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

const (
	// snapshotThreshold is after how many entries the log is cut: at most this
	// many are applied again when a server starts, which takes some 100 ms.
	snapshotThreshold = 8192
	// snapshotInterval is how often the threshold is looked at.
	snapshotInterval = time.Minute
	// trailingLogs stay in the log after a snapshot, for replicas that are a
	// little behind.
	trailingLogs = 1024
	// electionTimeout is after how long without a word of the leader, up to twice of it, a replica
	// stands for election: another leads within two seconds, even when the first vote is split, and
	// a machine under load is not taken for dead. A single replica does not wait for it, see elect.
	electionTimeout = 500 * time.Millisecond
	// leaseTimeout is after how long without contact to a majority a leader steps down: before the
	// others have elected one.
	leaseTimeout = 400 * time.Millisecond
)

func (r *Replica) start(stores *stores, options Options) error {
	changes := make(chan bool, 8)
	config := raftConfig(options.Name, r.logger, changes)
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
			return fmt.Errorf("cannot begin a new log: %w", err)
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
	r.observeRaft()
	r.electNow()
	return nil
}

// recordName has the directory and its log know whose they are, before others do.
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

// rename sets a name and an address in the log for the only replica of a cluster without network.
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
	config.NotifyCh = changes
	config.ShutdownOnRemove = false // it is told so, and then ends in order
	config.NoLegacyTelemetry = true
	config.Logger = newRaftLogger(logger)
	return config
}

// electNow asks a replica that is the only voter to stand for election now (the TimeoutNow
// request of Raft's leadership transfer): there is nobody else whose heartbeat
// it could wait for.
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
