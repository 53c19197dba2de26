package config

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/cmd/cmdline"
	"score/gang"
	"score/nodeagent"
	"score/scored/api"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxGrace is how long jobs that nobody can reach may run on.
const maxGrace = 24 * time.Hour

// problem is a key with a wrong value.
type problem struct {
	key string
	err error // nil: the value is right
}

// check returns the first problem, in the order of the file; nil if there is none.
func (c *Config) check() *problem {
	anywhere := c.Cluster.Certificates != ""
	for _, p := range slices.Concat(c.Cluster.check(), c.Server.check(anywhere), c.Agent.check(anywhere), c.Log.check()) {
		if p.err != nil {
			return &p
		}
	}
	return nil
}

func (c *Cluster) check() []problem {
	return []problem{
		{"cluster.name", checkName(c.Name)},
		{"cluster.key_file", checkPath(c.KeyFile)},
		{"cluster.certificates", checkOptionalPath(c.Certificates)},
	}
}

func (s *Server) check(anywhere bool) []problem {
	_, memoryErr := s.DefaultMemory()
	return []problem{
		{"server.name", checkOptionalName(s.Name)},
		{"server.data_dir", checkPath(s.DataDir)},
		{"server.socket", checkPath(s.Socket)},
		{"server.agents_listen", checkAddress(s.AgentsListen, anywhere)},
		{"server.advertise", checkAdvertise(s.Advertise)},
		{"server.metrics_listen", checkOptionalLoopback(s.MetricsListen)},
		{"server.slice", checkDuration(s.Slice, gang.MinSlice, gang.MaxSlice)},
		{"server.max_rows", checkRange(s.MaxRows, 1, gang.MaxRowsLimit)},
		{"server.memory_per_cpu", memoryErr},
	}
}

// DefaultMemory returns memory_per_cpu in bytes; 0 means an equal share.
func (s *Server) DefaultMemory() (uint64, error) {
	if s.MemoryPerCPU == "" {
		return 0, nil
	}
	return cmdline.ParseBytes(s.MemoryPerCPU)
}

func (a *Agent) check(anywhere bool) []problem {
	return []problem{
		{"agent.name", checkOptionalName(a.Name)},
		{"agent.listen", checkAddress(a.Listen, anywhere)},
		{"agent.servers", checkServers(a.Servers, anywhere)},
		{"agent.run_dir", checkPath(a.RunDir)},
		{"agent.socket", checkOptionalPath(a.Socket)},
		{"agent.cpus", checkCPUs(a.CPUs)},
		{"agent.memory", checkOptionalBytes(a.Memory)},
		{"agent.channels", checkRange(a.Channels, 0, nodeagent.MaxChannels)},
		{"agent.link", checkChoice(a.Link, link.UDP.String(), link.TIPC.String())},
		{"agent.tipc_type", checkRange(int(a.TIPCType), tipc.MinType, tipc.MaxType)},
		{"agent.cgroups", checkChoice(a.Cgroups, CgroupsAuto, CgroupsOff)},
		{"agent.warm_stewards", checkRange(a.WarmStewards, 1, nodeagent.MaxWarmStewards)},
		{"agent.grace", checkDuration(a.Grace, 0, maxGrace)},
		{"agent.metrics_listen", checkOptionalLoopback(a.MetricsListen)},
		{"agent.stage_dir", checkOptionalPath(a.StageDir)},
		{"agent.stage_limit", checkSize(a.StageLimit)},
	}
}

// UserSocket returns the users' socket, or its default.
func (a *Agent) UserSocket() string {
	if a.Socket != "" {
		return a.Socket
	}
	return filepath.Join(filepath.Dir(filepath.Clean(a.RunDir)), api.AgentSocketName)
}

func (l *Log) check() []problem {
	return []problem{{"log.level", checkChoice(l.Level, "debug", "info", "warn", "error")}}
}

func checkName(name string) error {
	if !api.ValidName(name) {
		return fmt.Errorf("%q may have up to 63 letters, digits, - and _", name)
	}
	return nil
}

func checkOptionalName(name string) error {
	if name == "" {
		return nil
	}
	return checkName(name)
}

func checkPath(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q must be an absolute path", path)
	}
	return nil
}

func checkSize(text string) error {
	_, err := cmdline.ParseBytes(text)
	return err
}

func checkOptionalPath(path string) error {
	if path == "" {
		return nil
	}
	return checkPath(path)
}

// checkAddress checks host:port. Unless anywhere is set, the host must be loopback.
func checkAddress(address string, anywhere bool) error {
	if !anywhere {
		return checkLoopback(address)
	}
	if _, port, err := net.SplitHostPort(address); err != nil || !validPort(port) {
		return fmt.Errorf("%q is not host:port", address)
	}
	return nil
}

// validPort reports whether a port is a number that TCP has; 0 lets the kernel choose.
func validPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// checkAdvertise checks host:port that other hosts can dial.
func checkAdvertise(address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "0" || !validPort(port) {
		return fmt.Errorf("%q is not host:port that others can reach", address)
	}
	return nil
}

// checkLoopback refuses addresses that other hosts could reach.
func checkLoopback(address string) error {
	if _, port, err := net.SplitHostPort(address); err == nil && !validPort(port) {
		return fmt.Errorf("%q is not host:port", address)
	}
	return api.CheckLoopback(address)
}

func checkOptionalLoopback(address string) error {
	if address == "" {
		return nil
	}
	return checkLoopback(address)
}

func checkServers(servers []string, anywhere bool) error {
	if len(servers) == 0 {
		return errors.New("name at least one server")
	}
	for _, server := range servers {
		if err := checkAddress(server, anywhere); err != nil {
			return err
		}
	}
	return nil
}

func checkCPUs(cpus []int) error {
	for i, cpu := range cpus {
		if cpu < 0 {
			return fmt.Errorf("there is no CPU %d", cpu)
		}
		if slices.Contains(cpus[:i], cpu) {
			return fmt.Errorf("CPU %d is named twice", cpu)
		}
	}
	return nil
}

func checkOptionalBytes(text string) error {
	if text == "" {
		return nil
	}
	_, err := cmdline.ParseBytes(text)
	return err
}

func checkChoice(value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	last := len(choices) - 1
	return fmt.Errorf("it is %s or %s, not %q", strings.Join(choices[:last], ", "), choices[last], value)
}

func checkRange(value, low, high int) error {
	if value < low || value > high {
		return fmt.Errorf("%d is not between %d and %d", value, low, high)
	}
	return nil
}

func checkDuration(text string, low, high time.Duration) error {
	value, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a time with a unit, such as 100ms or 60s", text)
	}
	if value < low || value > high {
		return fmt.Errorf("%v is not between %v and %v", value, low, high)
	}
	return nil
}
