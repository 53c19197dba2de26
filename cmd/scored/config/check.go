package config

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/cmd/cmdline"
	"score/nodeagent"
	"score/scored/api"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// minSlice is the shortest useful slice: a switch takes a tenth of a millisecond.
	minSlice = time.Millisecond
	// maxSlice keeps a user's wait for the next slice bearable.
	maxSlice = time.Minute
	// maxRows bounds the gang matrix: a job's share of a CPU is one row's part.
	maxRows = 64
	// maxWarm bounds the memory that waiting stewards take.
	maxWarm = 64
	// maxGrace is how long jobs that nobody can reach may run on.
	maxGrace = 24 * time.Hour
)

// problem is a key with a wrong value.
type problem struct {
	key string
	err error
}

// check returns the first problem, in the order of the file.
func (c *Config) check() *problem {
	anywhere := c.Cluster.Certificates != ""
	server := func() *problem { return c.Server.check(anywhere) }
	agent := func() *problem { return c.Agent.check(anywhere) }
	for _, check := range []func() *problem{c.Cluster.check, server, agent, c.Log.check} {
		if found := check(); found != nil {
			return found
		}
	}
	return nil
}

// first returns a problem with the first error that is not nil.
func first(key []string, errs ...error) *problem {
	for i, err := range errs {
		if err != nil {
			return &problem{key[i], err}
		}
	}
	return nil
}

func (c *Cluster) check() *problem {
	return first([]string{"cluster.name", "cluster.key_file", "cluster.certificates"},
		checkName(c.Name), checkPath(c.KeyFile), checkOptionalPath(c.Certificates))
}

func (s *Server) check(anywhere bool) *problem {
	_, memoryErr := s.DefaultMemory()
	return first(
		[]string{
			"server.name",
			"server.data_dir",
			"server.socket",
			"server.agents_listen",
			"server.advertise",
			"server.metrics_listen",
			"server.slice",
			"server.max_rows",
			"server.memory_per_cpu",
		},
		checkOptionalName(
			s.Name,
		),
		checkPath(s.DataDir),
		checkPath(s.Socket),
		checkAddress(s.AgentsListen, anywhere),
		checkAdvertise(s.Advertise),
		checkOptionalLoopback(s.MetricsListen),
		checkDuration(s.Slice, minSlice, maxSlice),
		checkRange(s.MaxRows, 1, maxRows),
		memoryErr,
	)
}

// DefaultMemory returns memory_per_cpu in bytes; 0 means an equal share.
func (s *Server) DefaultMemory() (uint64, error) {
	if s.MemoryPerCPU == "" {
		return 0, nil
	}
	return cmdline.ParseBytes(s.MemoryPerCPU)
}

func (a *Agent) check(anywhere bool) *problem {
	return first(
		[]string{
			"agent.name",
			"agent.listen",
			"agent.servers",
			"agent.run_dir",
			"agent.socket",
			"agent.cpus",
			"agent.memory",
			"agent.channels",
			"agent.link",
			"agent.tipc_type",
			"agent.cgroups",
			"agent.warm_stewards",
			"agent.grace",
			"agent.metrics_listen",
			"agent.stage_dir",
			"agent.stage_limit",
		},
		checkOptionalName(
			a.Name,
		),
		checkAddress(a.Listen, anywhere),
		checkServers(a.Servers, anywhere),
		checkPath(a.RunDir),
		checkOptionalPath(a.Socket),
		checkCPUs(a.CPUs),
		checkOptionalBytes(
			a.Memory,
		),
		checkRange(a.Channels, 0, nodeagent.MaxChannels),
		checkChoice(a.Link, link.UDP.String(), link.TIPC.String()),
		checkRange(int(a.TIPCType), tipc.MinType, tipc.MaxType),
		checkChoice(a.Cgroups, CgroupsAuto, CgroupsOff),
		checkRange(a.WarmStewards, 1, maxWarm),
		checkDuration(a.Grace, 0, maxGrace),
		checkOptionalLoopback(a.MetricsListen),
		checkOptionalPath(a.StageDir),
		checkSize(a.StageLimit),
	)
}

// UserSocket returns the users' socket, or its default.
func (a *Agent) UserSocket() string {
	if a.Socket != "" {
		return a.Socket
	}
	return filepath.Join(filepath.Dir(filepath.Clean(a.RunDir)), api.AgentSocketName)
}

func (l *Log) check() *problem {
	return first([]string{"log.level"}, checkChoice(l.Level, "debug", "info", "warn", "error"))
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
	return api.CheckLoopback(address, "127.0.0.1 or another address of loopback")
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
