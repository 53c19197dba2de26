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
	KeyFile      string `toml:"key_file" comment:"File with the secret by which daemons authenticate each other, mode 0600. The\nserver creates it if it is missing; copy it to the nodes."`
	Certificates string `toml:"certificates" comment:"Directory of the daemons' certificates; 'scored init' and 'scored join' create it.\nEmpty: connections are not encrypted, and daemons listen on loopback only."`
}

// Server holds the keys of a server.
type Server struct {
	Name          string `toml:"name" comment:"Name of the server. Empty: the host's name."`
	DataDir       string `toml:"data_dir" comment:"Directory for the committed state, mode 0700. One server at a time may use it."`
	Socket        string `toml:"socket" comment:"Unix socket for users' programs. The kernel tells the server who connects."`
	AgentsListen  string `toml:"agents_listen" comment:"Address to which agents connect, host:port; without certificates on loopback."`
	Advertise     string `toml:"advertise" comment:"Address of this server for daemons that join, host:port. Empty: agents_listen."`
	MetricsListen string `toml:"metrics_listen" comment:"Address for Prometheus metrics (/metrics), host:port on loopback. Empty: no\nmetrics are served."`
	Slice         string `toml:"slice" comment:"Time slice: how long a row of the gang matrix is on. This is the value for a new\ncluster; to change it later, use 'scored config set slice'."`
	MaxRows       int    `toml:"max_rows" comment:"Most rows of the gang matrix, that is, how many jobs can share a CPU. This is the\nvalue for a new cluster; to change it later, use 'scored config set max_rows'."`
	MemoryPerCPU  string `toml:"memory_per_cpu" comment:"Memory that a job without --mem gets for each CPU. Empty: an equal share, so that\nmax_rows jobs fit beside each other. This is the value for a new cluster; to change it\nlater, use 'scored config set memory_per_cpu'."`
}

// Agent holds the keys of a node's agent.
type Agent struct {
	Name          string   `toml:"name" comment:"Name of the node. Empty: the host's name."`
	Listen        string   `toml:"listen" comment:"Address for servers and other agents, host:port (without certificates on loopback),\nby TCP and UDP; port 0 takes a free one."`
	Servers       []string `toml:"servers" comment:"Addresses of the servers, host:port."`
	RunDir        string   `toml:"run_dir" comment:"Directory for sockets of this agent alone, mode 0700; the node's name is appended.\nAt most 80 bytes with the name."`
	Socket        string   `toml:"socket" comment:"Unix socket for users' programs on hosts without a server, in clusters with\ncertificates; the kernel tells the agent who connects. Empty: agent.sock beside run_dir,\nand so beside the server's socket."`
	CPUs          CPUList  `toml:"cpus" comment:"The node's CPUs as the kernel numbers them: [1, 2, 3, 8] or \"1-3,8\". Empty: all that the\nagent may use."`
	Memory        string   `toml:"memory" comment:"Memory that may be promised to jobs, with K, M, G or T. Empty: the machine's."`
	Channels      int      `toml:"channels" comment:"How many channels of PM programs may be on the network at once, 1 to 1024. Jobs that\ntogether need more take turns; a single job that needs more is refused. 0: as many as\nCPUs, but at least 16."`
	Link          string   `toml:"link" comment:"Transport of PM programs' messages between nodes: \"udp\", or \"tipc\", which needs the\nkernel's module with a bearer. Use the same on all nodes."`
	TIPCType      uint32   `toml:"tipc_type" comment:"The type of the cluster's names in TIPC. Clusters on one network must have different types."`
	SharesCPUs    bool     `toml:"shares_cpus" comment:"Whether another node of the same machine uses these CPUs too."`
	KeepToCPUs    bool     `toml:"keep_to_cpus" comment:"Whether the stewards of jobs also use only these CPUs. Set it if several nodes divide\na machine."`
	Cgroups       string   `toml:"cgroups" comment:"\"auto\" uses control groups if the host allows it, \"off\" stops jobs by signals to\ntheir processes."`
	PrivateShm    bool     `toml:"private_shm" comment:"Whether each job gets a /dev/shm of its own, of the size of the host's, which is lost with\nthe job. Agents that are not root's cannot do that. If false, one user's jobs can fill the\nhost's for all others."`
	PrivateIPC    bool     `toml:"private_ipc" comment:"Whether each job also gets an IPC namespace of its own (memory, semaphores and queues of\nSystem V, POSIX message queues), with the host's limits. It needs private_shm. Set it to\nfalse if several nodes divide a machine and programs of UCX (Debian's MPICH) shall use\nshared memory between them instead of TCP."`
	Realtime      bool     `toml:"realtime" comment:"Whether the switching thread may ask for real-time priority, so that jobs\nthat spin cannot delay it."`
	StageDir      string   `toml:"stage_dir" comment:"Directory for the files that users copy to nodes with their jobs (scrun --stage); the\nnode's name is appended. Programs must be executable there. Agents of root also keep the\njobs' directories (SCORE_JOB_DIR) beside it: users can fill this file system up to their\nquotas. Empty: beside run_dir."`
	StageLimit    string   `toml:"stage_limit" comment:"Most bytes of these files, with K, M, G or T. The files that one user's jobs need\nmay take half of it. The least recently used files are removed first."`
	WarmStewards  int      `toml:"warm_stewards" comment:"Number of stewards that are started in advance, so that jobs start fast."`
	Grace         string   `toml:"grace" comment:"How long jobs continue without their agent."`
	MetricsListen string   `toml:"metrics_listen" comment:"As server.metrics_listen."`
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
			CPUs:         CPUList{},
			Link:         "udp",
			TIPCType:     tipc.DefaultType,
			Cgroups:      CgroupsAuto,
			StageDir:     "/var/cache/score",
			StageLimit:   "4G",
			PrivateShm:   true,
			PrivateIPC:   true,
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
