package server

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/transport/socket"
	"score/scored/leader"
	"score/scored/replica"

	"go.uber.org/zap"
)

// ErrOptions is wrapped by every error of New that the configuration caused.
var ErrOptions = errors.New("server configuration")

// UnixPrefix marks an address as the path of a Unix socket.
const UnixPrefix = "unix:"

// Options are the options of a server.
type Options struct {
	// DataDir holds the committed state, mode 0700; one server at a time may
	// use it. Empty: the state lives in memory and ends with the process.
	DataDir string
	// UserSocket is the path of the Unix socket for users' programs. All users may connect; the
	// kernel identifies them. Empty: none.
	UserSocket string
	// AgentListen is the address for agents: host:port (port 0 takes a free one; on loopback only,
	// without Credentials), or "unix:" and the path of a socket for agents of the same user on this
	// host.
	AgentListen string
	// ClusterKey is the cluster's secret. Without Credentials the daemons' credentials are derived
	// from it.
	ClusterKey string
	// Credentials are this server's certificate. They allow any AgentListen address and several
	// servers. Nil: daemons identify each other by ClusterKey, on loopback only.
	Credentials *pki.Credentials
	// CertificateDir is the directory of the Credentials, where renewed ones are written; required
	// with Credentials.
	CertificateDir string
	// Authority signs certificates; required with Credentials.
	Authority *pki.Authority
	// Advertise is the host:port at which other daemons reach this server. Default: AgentListen.
	Advertise string
	// Start says what to do with an empty DataDir, in a cluster with certificates.
	Start replica.Start
	// OnMember, if not nil, is called when this server has state and a vote.
	OnMember func()
	// Servers are addresses of the cluster's servers to ask while this one knows none.
	Servers []string
	// ClusterName is the name that agents must give when they connect.
	ClusterName string
	// Version is the program's version, for display.
	Version string
	// MetricsAddress serves Prometheus metrics at /metrics, host:port on
	// loopback. Empty: not served.
	MetricsAddress string
	// Settings are the settings of a new cluster; nil: the defaults. A cluster that has state keeps
	// its own, which SetSettings changes.
	Settings *scorev1.Settings
	// SingleUser marks a cluster for one job: jobs that ask for no memory are neither promised any
	// nor limited.
	SingleUser bool
	// ShareCPUs lets the ranks of a job that asks for more CPUs than there are share them, unless
	// the job says otherwise: a single host has no other nodes.
	ShareCPUs bool
	// StartNodes is how many nodes a new cluster awaits before it takes jobs; see leader.Options.
	StartNodes int
	// Logger gets one line per event. Nil: none.
	Logger *zap.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if err := o.check(); err != nil {
		return o, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return o, nil
}

func (o Options) check() error {
	switch {
	case !api.ValidName(o.ClusterName):
		return fmt.Errorf("the cluster name %q may have up to 63 letters, digits, - and _", o.ClusterName)
	case o.ClusterKey == "":
		return errors.New("the cluster key is empty; give every daemon the same key_file")
	case o.Version == "":
		return errors.New("the version is empty")
	case o.DataDir != "" && !filepath.IsAbs(o.DataDir):
		return fmt.Errorf("data_dir = %q must be an absolute path", o.DataDir)
	}
	if o.Settings != nil {
		if err := leader.CheckSettings(o.Settings); err != nil {
			return err
		}
	}
	if err := checkSocket("socket", o.UserSocket); err != nil {
		return err
	}
	if err := o.checkAgentListen(); err != nil {
		return err
	}
	if o.MetricsAddress == "" {
		return nil
	}
	return api.CheckLoopbackOf("metrics_listen", o.MetricsAddress)
}

func (o Options) checkAgentListen() error {
	address := o.AgentListen
	if o.Credentials != nil {
		return o.checkEncrypted()
	}
	if path, ok := isUnix(address); ok && path != "" {
		return checkSocket("agents_listen", path)
	}
	return api.CheckLoopbackOf("agents_listen", address)
}

func (o Options) checkEncrypted() error {
	if o.Authority == nil || o.CertificateDir == "" {
		return errors.New("a server with a certificate needs the cluster's authority")
	}
	if name := o.Credentials.Name(); name.Cluster != o.ClusterName || name.Role != pki.Server {
		return fmt.Errorf("its certificate is that of %s, and this is a server of cluster %s", name, o.ClusterName)
	}
	if err := o.Credentials.Check(); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(o.AgentListen); err != nil {
		return fmt.Errorf("agents_listen = %q is not host:port", o.AgentListen)
	}
	return nil
}

func checkSocket(key, path string) error {
	if path == "" {
		return nil
	}
	return socket.CheckPath(key, path)
}
