package nodeagent

import (
	"cmp"
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
	// DefaultWarmStewards is enough for two jobs that start at once. A waiting steward costs some
	// 10 MB.
	DefaultWarmStewards = 2
	// MaxWarmStewards bounds the memory that waiting stewards take.
	MaxWarmStewards = 64
	// DefaultChannels is the number of channels of a node with few CPUs: few enough that their
	// buffers stay in the processors' caches.
	DefaultChannels = 16
	// MaxChannels bounds the channels of one row. Each channel costs the agent half a megabyte and
	// two descriptors in every row.
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

// Options are the configuration of an agent. A zero value means the default that the field's
// comment names.
type Options struct {
	// Name is the node's name, unique in the cluster: letters, digits, - and _.
	Name string
	// Cluster is the cluster's name; the servers must have the same.
	Cluster string
	// Version is the program's version, for people.
	Version string
	// RunDir is a directory of this agent alone; the agent makes it with mode 0700. The path must
	// be absolute and at most 80 bytes long, since sockets are in it.
	RunDir string

	// Servers are the base URLs of the servers' AgentService, tried in turn.
	Servers []string
	// Dial connects to servers. Default: TCP.
	Dial h2.Dialer
	// ClusterKey is the cluster's secret. Without Credentials the daemons derive theirs from it.
	// With Credentials it serves only jobs that a server of a former version has ordered.
	ClusterKey string
	// Credentials are the agent's certificate; with them Listen may be any address. Default:
	// daemons authenticate each other by ClusterKey, on loopback only.
	Credentials *pki.Credentials
	// CertificateDir is the directory of the Credentials, where renewed ones are written; required
	// with Credentials.
	CertificateDir string
	// Listen is where servers and other agents reach this one, host:port; port 0 takes a free one.
	Listen string

	// UserSocket is a Unix socket for the host's users; the agent forwards their calls to the
	// servers. Everybody may connect, and the kernel identifies the user. If several agents of a
	// host have the same socket, one of them serves it. Empty, or without Credentials: none.
	UserSocket string

	// CPUs are the node's CPUs as the kernel numbers them. Default: all that
	// this process may use.
	CPUs []int
	// MemoryBytes is the memory that jobs may get. Default: what the machine, or the control group
	// around this process, has.
	MemoryBytes uint64
	// Channels is how many contexts may be on the network at once. Default: one for each CPU, so
	// that a rank on each has one, but at least DefaultChannels.
	Channels int
	// Link is what carries channels to other nodes; all nodes of a job must have the same.
	Link link.Transport
	// TIPCType is the type of the cluster's names if Link is TIPC. Default: tipc.DefaultType.
	TIPCType uint32
	// SharesCPUs is set if another node of this machine has the same CPUs.
	SharesCPUs bool
	// KeepToCPUs keeps the stewards on the node's CPUs, beside their ranks. It is for machines that
	// several nodes divide.
	KeepToCPUs bool

	// StewardExe is the program that runs as a steward if its first argument is "steward".
	StewardExe string
	// WarmStewards is how many stewards wait for the next jobs. Default: DefaultWarmStewards.
	WarmStewards int
	// Grace is how long a steward runs on without an agent. 0 ends its job at once, for an agent
	// that is not a daemon.
	Grace time.Duration

	// StageDir is where the files that are sent along with jobs are kept. It belongs to this agent
	// alone, and its files outlive the agent. Default: beside RunDir.
	StageDir string
	// StageLimit bounds the files in StageDir, in bytes. Default: DefaultStageLimit.
	StageLimit int64

	// JobsDir is where each job has a directory of its own. It belongs to this agent alone. Only
	// the file system's quotas bound what users write there. Default: beside RunDir.
	JobsDir string

	// NoCgroups stops jobs by signals to their process groups even where
	// control groups could be used (configuration key cgroups = "off").
	NoCgroups bool
	// PrivateShm gives each job a /dev/shm of its own where this process may (configuration key
	// private_shm).
	PrivateShm bool
	// PrivateIPC also gives it an IPC namespace, where it gets a /dev/shm (configuration key
	// private_ipc).
	PrivateIPC bool
	// EnableRealtime lets the switching thread ask for real-time priority, so that jobs that spin
	// cannot delay it.
	EnableRealtime bool

	// MetricsAddress is where Prometheus metrics are served, at /metrics: host:port on loopback.
	// Default: not served.
	MetricsAddress string
	// Serving is called once, when the agent answers servers and other agents and has adopted the
	// jobs that it found. It must not wait. Default: not called.
	Serving func()
	// Logger gets one line per event. Default: none.
	Logger *zap.Logger
}

// withDefaults fills in the fields that the caller left empty, and checks the others.
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
	case len(o.Servers) == 0:
		return errors.New("no server is named; say where the servers listen with servers")
	case o.ClusterKey == "" && o.Credentials == nil:
		return errors.New("the cluster key is empty; give every daemon the same key_file")
	}
	if err := cmp.Or(o.checkPaths(), o.checkNumbers(), checkCPUs(o.CPUs)); err != nil {
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
	return api.CheckLoopbackOf("metrics_listen", o.MetricsAddress)
}

func (o Options) checkPaths() error {
	switch {
	case !filepath.IsAbs(o.RunDir):
		return fmt.Errorf("the run directory %q must be an absolute path", o.RunDir)
	case !filepath.IsAbs(o.StageDir):
		return fmt.Errorf("the directory for files of jobs %q must be an absolute path", o.StageDir)
	case !filepath.IsAbs(o.JobsDir):
		return fmt.Errorf("the place for the jobs' directories %q must be an absolute path", o.JobsDir)
	case len(o.RunDir) > maxSocketDir:
		return fmt.Errorf(
			"the run directory %q is longer than %d bytes: sockets in it would have names too long for the kernel; choose a shorter one",
			o.RunDir,
			maxSocketDir,
		)
	case !filepath.IsAbs(o.StewardExe):
		return fmt.Errorf("the steward program %q must be an absolute path", o.StewardExe)
	}
	return nil
}

func (o Options) checkNumbers() error {
	switch {
	case o.StageLimit < 0:
		return fmt.Errorf("files of jobs may take %d bytes, less than none", o.StageLimit)
	case o.WarmStewards < 0 || o.WarmStewards > MaxWarmStewards:
		return fmt.Errorf("warm_stewards = %d is not between 1 and %d", o.WarmStewards, MaxWarmStewards)
	case o.Channels < 1 || o.Channels > MaxChannels:
		return fmt.Errorf("channels = %d is not between 1 and %d", o.Channels, MaxChannels)
	case o.TIPCType < tipc.MinType:
		return fmt.Errorf("tipc_type = %d is not between %d and %d", o.TIPCType, tipc.MinType, uint32(tipc.MaxType))
	case o.Grace < 0:
		return fmt.Errorf("the stewards' grace time %v is negative", o.Grace)
	}
	return nil
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
		return api.CheckLoopbackOf("listen", o.Listen)
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
