package nodeagent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/nodeagent/hostinfo"
	"score/nodeagent/jobdirs"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/socket"
	"time"

	"go.uber.org/zap"
)

const (
	// DefaultWarmStewards is enough for two jobs that start at the same
	// instant; a steward costs some 10 MB while it waits.
	DefaultWarmStewards = 2
	// MaxWarmStewards bounds the memory that waiting stewards take.
	MaxWarmStewards = 64
	// DefaultChannels is how many channels a node of few CPUs has: few enough that their buffers
	// stay in the processors' caches.
	DefaultChannels = 16
	// MaxChannels bounds the channels of one row: each costs the agent half a megabyte
	// and two descriptors in every row.
	MaxChannels = 1024
	// DefaultStageLimit is room for the programs of some users with their libraries.
	DefaultStageLimit = 4 << 30
	// MaxNodeCPUs is the kernel's own bound (CONFIG_NR_CPUS).
	MaxNodeCPUs = 8192
	// maxSocketDir leaves room for a steward's socket name below the 108
	// bytes that a Unix socket address holds.
	maxSocketDir = 80
)

// ErrOptions is wrapped by every error of New that the configuration caused.
var ErrOptions = errors.New("agent configuration")

// Options say what a node is and whom it serves. Zero values mean the default
// that the field's comment names.
type Options struct {
	// Name of the node, unique in the cluster: letters, digits, - and _.
	Name string
	// Cluster is the name that the servers must have too.
	Cluster string
	// Version of the program, for people.
	Version string
	// RunDir is a directory of this agent alone, made with mode 0700. It must
	// be absolute and at most 80 bytes long, since sockets live in it.
	RunDir string

	// Servers are the base URLs of the servers' AgentService, tried in turn.
	Servers []string
	// Dial makes connections with the servers. Default: TCP.
	Dial h2.Dialer
	// ClusterKey is the cluster's secret. Where there are no Credentials the daemons' follow from
	// it; with them it is of use only for jobs that a server of a former version has ordered.
	ClusterKey string
	// Credentials are the agent's certificate; with it Listen may be any address. Default: daemons
	// know each other by ClusterKey, on loopback only.
	Credentials *pki.Credentials
	// CertificateDir is where they came from, and renewed ones are written to; needed with
	// Credentials.
	CertificateDir string
	// Listen is where servers and other agents reach this one, host:port; port 0 takes a free one.
	Listen string

	// UserSocket is the Unix socket at which users of the host are served, whose calls go to the
	// servers; everybody may connect, and the kernel tells who it is. Of several agents of a host
	// with the same one serves. Empty, or without Credentials: none.
	UserSocket string

	// CPUs are the node's CPUs as the kernel numbers them. Default: all that
	// this process may use.
	CPUs []int
	// MemoryBytes may be promised to jobs. Default: what the machine, or the
	// control group around this process, has.
	MemoryBytes uint64
	// Channels is how many contexts may be on the network at once. Default: one for each CPU, so that
	// a rank on each has one, and DefaultChannels at least.
	Channels int
	// Link is what carries channels to other nodes; all nodes of a job must have the same.
	Link link.Transport
	// TIPCType is the type of the cluster's names if Link is TIPC. Default: tipc.DefaultType.
	TIPCType uint32
	// SharesCPUs says that another node of this machine has the same CPUs.
	SharesCPUs bool
	// KeepToCPUs keeps the stewards on the node's CPUs, beside their ranks: where several nodes
	// divide a machine.
	KeepToCPUs bool

	// StewardExe is the program that runs as steward when its first argument
	// is "steward".
	StewardExe string
	// WarmStewards wait for the next jobs. Default: DefaultWarmStewards.
	WarmStewards int
	// Grace is how long a steward goes on without an agent; 0 ends its job at
	// once, for an agent that is not a daemon.
	Grace time.Duration

	// StageDir keeps the files that are sent along with jobs; it is this agent's alone, and what is
	// in it outlives the agent. Default: beside RunDir.
	StageDir string
	// StageLimit is how much they may take, in bytes. Default: DefaultStageLimit.
	StageLimit int64

	// JobsDir is where each job has a directory of its own; the place is this agent's alone. What
	// users write there is bounded by their quotas of the file system only. Default: beside RunDir.
	JobsDir string

	// NoCgroups stops jobs by signals to their process groups even where
	// control groups could be used (configuration key cgroups = "off").
	NoCgroups bool
	// EnableRealtime lets the switching thread ask for real-time priority, so
	// that spinning jobs cannot delay it.
	EnableRealtime bool

	// MetricsAddress serves Prometheus metrics at /metrics, host:port on
	// loopback. Default: not served.
	MetricsAddress string
	// Serving is called once, when servers and other agents are answered and the jobs that were
	// found are taken over. It must not wait. Default: not called.
	Serving func()
	// Logger gets one line per event. Default: none.
	Logger *zap.Logger
}

// withDefaults fills in what the caller left open, and checks the rest.
func (o Options) withDefaults() (Options, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.WarmStewards == 0 {
		o.WarmStewards = DefaultWarmStewards
	}
	if o.StageDir == "" {
		o.StageDir = o.RunDir + ".stage"
	}
	if o.JobsDir == "" {
		o.JobsDir = jobdirs.Default(o.RunDir)
	}
	if o.StageLimit == 0 {
		o.StageLimit = DefaultStageLimit
	}
	var err error
	if len(o.CPUs) == 0 {
		if o.CPUs, err = hostinfo.AllowedCPUs(); err != nil {
			return o, fmt.Errorf("%w: %w; name the node's CPUs with cpus", ErrOptions, err)
		}
	}
	if o.Channels == 0 {
		o.Channels = min(max(len(o.CPUs), DefaultChannels), MaxChannels)
	}
	if o.TIPCType == 0 {
		o.TIPCType = tipc.DefaultType
	}
	if o.MemoryBytes == 0 {
		if o.MemoryBytes, err = hostinfo.Memory(); err != nil {
			return o, fmt.Errorf("%w: %w; say how much memory the node has with memory", ErrOptions, err)
		}
	}
	if err = o.check(); err != nil {
		return o, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return o, nil
}

func (o Options) check() error {
	switch {
	case !api.ValidName(o.Name):
		return fmt.Errorf("the node name %q may have up to 63 letters, digits, - and _", o.Name)
	case !api.ValidName(o.Cluster):
		return fmt.Errorf("the cluster name %q may have up to 63 letters, digits, - and _", o.Cluster)
	case !filepath.IsAbs(o.RunDir):
		return fmt.Errorf("the run directory %q must be an absolute path", o.RunDir)
	case !filepath.IsAbs(o.StageDir):
		return fmt.Errorf("the directory for files of jobs %q must be an absolute path", o.StageDir)
	case o.StageLimit < 0:
		return fmt.Errorf("files of jobs may take %d bytes, less than none", o.StageLimit)
	case !filepath.IsAbs(o.JobsDir):
		return fmt.Errorf("the place for the jobs' directories %q must be an absolute path", o.JobsDir)
	case len(o.RunDir) > maxSocketDir:
		return fmt.Errorf(
			"the run directory %q is longer than %d bytes: sockets in it would have names too long for the kernel; choose a shorter one",
			o.RunDir,
			maxSocketDir,
		)
	case len(o.Servers) == 0:
		return errors.New("no server is named; say where the servers listen with servers")
	case o.ClusterKey == "" && o.Credentials == nil:
		return errors.New("the cluster key is empty; give every daemon the same key_file")
	case !filepath.IsAbs(o.StewardExe):
		return fmt.Errorf("the steward program %q must be an absolute path", o.StewardExe)
	case o.WarmStewards < 0 || o.WarmStewards > MaxWarmStewards:
		return fmt.Errorf("warm_stewards = %d is not between 1 and %d", o.WarmStewards, MaxWarmStewards)
	case o.Channels < 1 || o.Channels > MaxChannels:
		return fmt.Errorf("channels = %d is not between 1 and %d", o.Channels, MaxChannels)
	case o.TIPCType < tipc.MinType:
		return fmt.Errorf("tipc_type = %d is not between %d and %d", o.TIPCType, tipc.MinType, uint32(tipc.MaxType))
	case o.Grace < 0:
		return fmt.Errorf("the stewards' grace time %v is negative", o.Grace)
	}
	if err := checkCPUs(o.CPUs); err != nil {
		return err
	}
	if o.UserSocket != "" {
		if err := socket.CheckPath("socket", o.UserSocket); err != nil {
			return err
		}
	}
	if err := o.checkListen(); err != nil {
		return err
	}
	if o.MetricsAddress == "" {
		return nil
	}
	return CheckLoopback("metrics_listen", o.MetricsAddress)
}

func checkCPUs(cpus []int) error {
	seen := make(map[int]bool, len(cpus))
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= MaxNodeCPUs {
			return fmt.Errorf("there is no CPU %d", cpu)
		}
		if seen[cpu] {
			return fmt.Errorf("CPU %d is named twice", cpu)
		}
		seen[cpu] = true
	}
	return nil
}

func (o Options) checkListen() error {
	if o.Credentials == nil {
		return CheckLoopback("listen", o.Listen)
	}
	if name := o.Credentials.Name(); name != (pki.Name{Cluster: o.Cluster, Role: pki.Agent, Name: o.Name}) {
		return fmt.Errorf("its certificate is that of %s, and this is the agent of node %s of cluster %s", name, o.Name, o.Cluster)
	}
	if o.CertificateDir == "" {
		return errors.New("the directory of the certificates is not named")
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if ip, parseErr := netip.ParseAddr(host); err != nil || parseErr != nil || ip.IsUnspecified() {
		return fmt.Errorf("listen = %q is not the address by which the other nodes reach this one, with its port", o.Listen)
	}
	return o.Credentials.Check()
}

// CheckLoopback refuses an address that other hosts could reach: there none may listen without a
// certificate. The key names the configuration key in the error.
func CheckLoopback(key, address string) error {
	if err := api.CheckLoopback(address, "127.0.0.1 or ::1"); err != nil {
		return fmt.Errorf("%s = %w", key, err)
	}
	return nil
}
