package config

import "score/channels/link/tipc"

// Config is the whole file. The example file (packaging/score.toml) is generated from it, with the
// fields' texts.
type Config struct {
	Cluster Cluster `toml:"cluster" comment:"What all daemons of a cluster must agree on."`
	Server  Server  `toml:"server" comment:"scored server"`
	Agent   Agent   `toml:"agent" comment:"scored agent"`
	Log     Log     `toml:"log" comment:"What daemons write to standard error."`
}

// Cluster holds the keys that all daemons of a cluster share.
type Cluster struct {
	Name         string `toml:"name" comment:"Name of the cluster: letters, digits, - and _."`
	KeyFile      string `toml:"key_file" comment:"File with the secret by which daemons know each other, mode 0600. The server\nmakes it if it is missing; copy it to the nodes."`
	Certificates string `toml:"certificates" comment:"Directory of the daemons' certificates, which 'scored init' makes, and joining.\nEmpty: connections are not encrypted, and daemons listen on loopback only."`
}

// Server holds the keys of a server.
type Server struct {
	Name          string `toml:"name" comment:"Name of the server. Empty: the host's name."`
	DataDir       string `toml:"data_dir" comment:"Directory for the committed state, mode 0700. One server at a time may use it."`
	Socket        string `toml:"socket" comment:"Unix socket for users' programs. The kernel tells the server who connects."`
	AgentsListen  string `toml:"agents_listen" comment:"Where agents connect, host:port; without certificates on loopback."`
	Advertise     string `toml:"advertise" comment:"Where daemons that join find this server, host:port. Empty: agents_listen."`
	MetricsListen string `toml:"metrics_listen" comment:"Where Prometheus metrics are served (/metrics), host:port on loopback. Empty:\nnot at all."`
	Slice         string `toml:"slice" comment:"Time for which a row of the gang matrix is on, in a new cluster; later it is\nchanged with 'scored config set slice'."`
	MaxRows       int    `toml:"max_rows" comment:"Most rows of the gang matrix in a new cluster, that is, how many jobs can\nshare a CPU."`
	MemoryPerCPU  string `toml:"memory_per_cpu" comment:"Memory that a job without --mem gets for each CPU, in a new cluster. Empty: an equal share, so that max_rows jobs fit beside each other."`
}

// Agent holds the keys of a node's agent.
type Agent struct {
	Name          string   `toml:"name" comment:"Name of the node. Empty: the host's name."`
	Listen        string   `toml:"listen" comment:"Where servers and other agents reach this one, address or name of the host and\nport (without certificates on loopback), by TCP and UDP; port 0 takes a free one."`
	Servers       []string `toml:"servers" comment:"Where the servers listen for agents."`
	RunDir        string   `toml:"run_dir" comment:"Directory for sockets, mode 0700, of this agent alone; the node's name is\nappended. At most 80 bytes with it."`
	Socket        string   `toml:"socket" comment:"Unix socket for users' programs where no server runs, in clusters with certificates; the\nkernel tells the agent who connects. Empty: agent.sock beside run_dir, and so beside\nthe server's socket."`
	CPUs          []int    `toml:"cpus" comment:"The node's CPUs as the kernel numbers them. Empty: all that the agent may use."`
	Memory        string   `toml:"memory" comment:"Memory that may be promised to jobs, with K, M, G or T. Empty: the machine's."`
	Channels      int      `toml:"channels" comment:"How many channels of PM programs may be on the network at once, 1 to 1024. Jobs that\nneed more take turns; a job that needs more by itself is refused. 0: as many as CPUs, and\n16 at least."`
	Link          string   `toml:"link" comment:"What carries the messages of PM programs between nodes: \"udp\", or \"tipc\", for which the\nkernel's module must be loaded and have a bearer. The same on all nodes."`
	TIPCType      uint32   `toml:"tipc_type" comment:"The type of the cluster's names in TIPC. Clusters on one network have different ones."`
	SharesCPUs    bool     `toml:"shares_cpus" comment:"Whether another node of the same machine uses these CPUs too."`
	KeepToCPUs    bool     `toml:"keep_to_cpus" comment:"Whether the stewards of jobs keep to these CPUs, too: where several nodes divide a machine."`
	Cgroups       string   `toml:"cgroups" comment:"\"auto\" uses control groups where they can be used, \"off\" stops jobs by signals\nto their processes."`
	Realtime      bool     `toml:"realtime" comment:"Whether the switching thread may ask for real-time priority, so that jobs\nthat spin cannot delay it."`
	StageDir      string   `toml:"stage_dir" comment:"Directory for the files that users send along with jobs (scrun --stage); the node's\nname is appended. Programs must be executable there. Root's agents have the jobs' own\ndirectories there, too (SCORE_JOB_DIR), beside it: users fill its file system as far as\ntheir quotas let them. Empty: beside run_dir."`
	StageLimit    string   `toml:"stage_limit" comment:"How much they may take, with K, M, G or T; what the jobs of one user hold, half of it. Those used longest ago go first."`
	WarmStewards  int      `toml:"warm_stewards" comment:"Stewards that wait for the next jobs, so that starting costs nothing."`
	Grace         string   `toml:"grace" comment:"How long the jobs of an agent that is gone go on."`
	MetricsListen string   `toml:"metrics_listen" comment:"As for the server."`
}

// Log holds the keys of the log.
type Log struct {
	Level string `toml:"level" comment:"debug, info, warn or error."`
}

// DefaultPath is the file that is read if no other is named. It may be missing.
const DefaultPath = "/etc/score/score.toml"

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		Cluster: Cluster{Name: "score", KeyFile: "/etc/score/key"},
		Server: Server{
			DataDir:      "/var/lib/score",
			Socket:       "/run/score/scored.sock",
			AgentsListen: "127.0.0.1:7420",
			Slice:        "100ms",
			MaxRows:      8,
		},
		Agent: Agent{
			Listen:       "127.0.0.1:7421",
			Servers:      []string{"127.0.0.1:7420"},
			RunDir:       "/run/score/agents",
			CPUs:         []int{},
			Link:         "udp",
			TIPCType:     tipc.DefaultType,
			Cgroups:      CgroupsAuto,
			StageDir:     "/var/cache/score",
			StageLimit:   "4G",
			Realtime:     true,
			WarmStewards: 2,
			Grace:        "60s",
		},
		Log: Log{Level: "info"},
	}
}

// Values of Agent.Cgroups.
const (
	CgroupsAuto = "auto"
	CgroupsOff  = "off"
)
