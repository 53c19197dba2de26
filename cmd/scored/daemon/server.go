package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/cmd/scored/cli"
	"score/cmd/scored/config"
	"score/cmd/scored/service"
	"score/nodeagent"
	"score/nodeagent/realtime"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/replica"
	"score/scored/server"
	"score/scored/state"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

const serverLong = `Runs a server until it is stopped (^C or SIGTERM). It creates the key file of
the cluster if it is missing; agents need a copy of it. SIGHUP makes the server read
its configuration again; log.level changes at once.

If the disk of its data directory is full, fails, or does not answer for five seconds,
the server stops leading and exits with code 74; a service manager then restarts it. If
it was removed from the cluster, its program is too old for the log that the other
servers have written, or the files of its certificate are damaged, it exits with code
78. Restarting it does not help.

A cluster with certificates may have several servers, usually three or five. Each has a
copy of the cluster's state. One of them leads; if it is lost, another one leads within
two seconds. Nothing is lost as long as a majority runs. On the other hosts:

  scored token create --role server | ssh host2 scored join -
  ssh host2 scored server

Users can call any of them, and agents find the leader.`

// serverFlags are the command line of a server.
type serverFlags struct {
	path, name, token string
	begin             bool
}

func serverCommand() *cobra.Command {
	var f serverFlags
	command := &cobra.Command{
		Use:   "server",
		Short: "run a server, which decides which jobs run, where and when",
		Long:  serverLong,
		Args:  cli.NoCommand,
		RunE:  func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	addConfig(command, &f.path)
	flags := command.Flags()
	flags.StringVar(&f.name, "name", "", "the server's `name` (default: server.name in the file, else the host's)")
	addJoin(command, &f.token, "server")
	flags.BoolVar(&f.begin, "begin", false, "begin with an empty state, which a server that had one otherwise refuses to do")
	command.AddCommand(recoverCommand())
	return command
}

func (f *serverFlags) run(command *cobra.Command) error {
	settings, err := joiningConfig(f.path, f.token)
	if err != nil {
		return err
	}
	if f.name != "" {
		settings.Server.Name = f.name
	}
	if f.token != "" {
		if settings, err = joined(command, settings, joining{text: f.token, config: f.path, role: serverRole}); err != nil {
			return err
		}
	}
	life := service.Begin(command.Context(), nil)
	defer life.End()
	return coded(runServer(life, f.path, settings, f.begin))
}

func runServer(life *service.Life, path string, c config.Config, begin bool) (err error) {
	_ = realtime.CalmMonitor(realtime.MonitorSlack) // without permission it only takes a little more CPU time
	realtime.CalmCollector()
	logger, level, err := newLogger(c.Log.Level)
	if err != nil {
		return err
	}
	defer func() { _ = logger.Sync() }() // a terminal cannot be synced
	options, err := serverOptions(c, logger)
	if err != nil {
		return err
	}
	stop, err := failpoints(serverFailpoints, logger)
	if err != nil {
		return err
	}
	defer stop()
	if begin {
		options.Start = replica.StartCluster
	}
	s, err := server.New(options)
	if err != nil {
		return err
	}
	api.Warm(agentpb.File_score_v1_agent_proto) // so that the first user does not wait for it
	ctx := life.Context()
	life.Go(func() { service.Watch(ctx, logger, s.Alive) })
	again := newReloader(path, "server", c, level, logger)
	again.status = fmt.Sprintf("server of cluster %s at %s", c.Cluster.Name, s.AgentURL())
	life.Go(func() { again.run(ctx, life.Reloads()) })
	service.Ready(again.status) // every socket is bound: callers are answered
	defer endWithDisk(s, logger)()
	return s.Run(ctx)
}

const (
	// exitDisk is the exit code of a server whose disk fails (EX_IOERR of sysexits.h). It can be
	// restarted, and continues if the disk works again.
	exitDisk = 74
	// exitForGood is the exit code of a daemon that cannot work before somebody acts (EX_CONFIG of
	// sysexits.h). It should not be restarted before that.
	exitForGood = 78
	// diskEnd is how long a server whose disk has failed may take to end by itself.
	diskEnd = 10 * time.Second
)

// endWithDisk ends the process if the disk has failed and the server does not end by itself. The
// caller calls stop when the server has ended.
func endWithDisk(s *server.Server, logger *zap.Logger) (stop func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-over:
			return
		case <-s.Failed():
		}
		select {
		case <-over:
		case <-time.After(diskEnd):
			logger.Error("the server does not end in order", zap.Duration("within", diskEnd))
			os.Exit(exitDisk)
		}
	}()
	return func() { close(over) }
}

// coded maps disk errors to exit code 74, and errors that a restart cannot fix to 78.
func coded(err error) error {
	switch {
	case errors.Is(err, replica.ErrDisk):
		return &cli.ExitError{Code: exitDisk, Err: err}
	case errors.Is(err, server.ErrRemoved), errors.Is(err, nodeagent.ErrRemoved), errors.Is(err, state.ErrProtocol),
		errors.Is(err, pki.ErrDamaged):
		return &cli.ExitError{Code: exitForGood, Err: err}
	}
	return err
}

// serverOptions returns the server's options. It makes the key and the directories that the
// configuration only names.
func serverOptions(c config.Config, logger *zap.Logger) (server.Options, error) {
	if err := makeKey(c.Cluster.KeyFile); err != nil {
		return server.Options{}, err
	}
	key, err := loadKey(c.Cluster.KeyFile)
	if err != nil {
		return server.Options{}, err
	}
	// All users' programs must reach this directory.
	if err := os.MkdirAll(filepath.Dir(c.Server.Socket), 0o755); err != nil {
		return server.Options{}, fmt.Errorf("cannot make the directory of the socket: %w", err)
	}
	settings, err := firstSettings(c.Server)
	if err != nil {
		return server.Options{}, err
	}
	name, err := serverName(c)
	if err != nil {
		return server.Options{}, err
	}
	own, certificates, err := credentials(c.Cluster, pki.Server, name)
	if err != nil {
		return server.Options{}, err
	}
	var authority *pki.Authority
	if own != nil {
		if authority, err = pki.LoadAuthority(certificates); err != nil {
			return server.Options{}, err
		}
	}
	return server.Options{
		DataDir:        c.Server.DataDir,
		UserSocket:     c.Server.Socket,
		AgentListen:    c.Server.AgentsListen,
		ClusterKey:     key,
		Credentials:    own,
		CertificateDir: certificates,
		Authority:      authority,
		Start:          startOf(pki.ReadBootstrap(certificates)),
		OnMember:       func() { begun(certificates, logger) },
		Servers:        serverAddresses(c, certificates),
		Advertise:      c.Server.Advertise,
		ClusterName:    c.Cluster.Name,
		Version:        api.Version(),
		MetricsAddress: c.Server.MetricsListen,
		Settings:       settings,
		Logger:         logger,
	}, nil
}

// startOf returns what the server does with an empty data directory.
func startOf(how pki.Bootstrap) replica.Start {
	switch how {
	case pki.BeginCluster:
		return replica.StartCluster
	case pki.BeginMember:
		return replica.StartMember
	default:
		return replica.StartNever
	}
}

func begun(certificates string, logger *zap.Logger) {
	if err := pki.ClearBootstrap(certificates); err != nil {
		logger.Warn("this server would take itself for a new one if it lost its state", zap.Error(err))
	}
}

// firstSettings returns the settings of a new cluster. The configuration was checked.
func firstSettings(s config.Server) (*scorev1.Settings, error) {
	slice, sliceErr := time.ParseDuration(s.Slice)
	memory, memoryErr := s.DefaultMemory()
	return &scorev1.Settings{
		SliceNanos: slice.Nanoseconds(), MaxRows: uint32(s.MaxRows), DefaultMemoryPerCpuBytes: memory,
	}, errors.Join(sliceErr, memoryErr)
}
