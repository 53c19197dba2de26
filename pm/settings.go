package pm

import (
	"fmt"
	"net/netip"
	"os"
	"score/channels"
	"score/channels/link"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Names of environment variables, read once when a process joins.
const (
	// EnvSocket is the descriptor on which the rank gets its contexts. The
	// launcher sets it.
	EnvSocket = "SCORE_PM_FD"
	// EnvImmediate: 0 keeps a long message invisible until its last byte is written.
	EnvImmediate = "PM_IMMEDIATE"
	// EnvOverlap: 0 keeps Receive from returning a message whose tail is still
	// being written.
	EnvOverlap = "PM_RECEIVE_OVERLAP"
	// EnvSpin: how long Wait looks for a message before it sleeps, as Go writes
	// durations ("20us").
	EnvSpin = "PM_SPIN"
	// EnvFlow: the flow control between nodes, "nack" or "credits"; the same in all ranks.
	EnvFlow = "PM_FLOW"
	// EnvLaneBytes: how many bytes of memory the lanes of all channels of the process may have,
	// as a number; 0: no lanes.
	EnvLaneBytes = "PM_LANE_BYTES"
	// EnvHost is the address at which other hosts reach this node. The launcher sets it.
	EnvHost = "SCORE_NODE_ADDRESS"
	// EnvCPURanks is how many ranks of the job share each of the rank's CPUs, also those of other nodes
	// of the machine. The launcher sets it; a rank that is bound to one CPU cannot find out by itself.
	EnvCPURanks = "SCORE_CPU_RANKS"
)

// Settings of a process.
type Settings struct {
	Immediate bool          // long messages become visible while they are written; default true
	Overlap   bool          // long messages are received while they are written; default true
	Spin      time.Duration // how long Wait spins; negative: DefaultSpin, or not at all with more ranks than CPUs
	Flow      Flow          // flow control of channels between nodes; default FlowNack
	LaneBytes int64         // of memory that lanes may have together; 0: DefaultLaneBytes, negative: none
	Host      netip.Addr    // at which other hosts reach this node; none: loopback
	Faults    link.Faults   // what the way to other nodes does to datagrams; default nothing
}

// DefaultSpin is how long a waiting rank keeps its processor to itself: what falling asleep and
// being woken costs both sides, which is two round trips between nodes.
const DefaultSpin = 50 * time.Microsecond

// DefaultLaneBytes is enough for all lanes of four channels: 15 of 256 KiB each. A node of 64 ranks
// then spends at most 1 GiB on lanes.
const DefaultLaneBytes = 16 << 20

// DefaultSettings returns the settings of a process without environment.
func DefaultSettings() Settings { return Settings{Immediate: true, Overlap: true, Spin: -1} }

// SettingsFromEnvironment reads the PM_ variables. The error wraps
// ErrEnvironment and names the variable.
func SettingsFromEnvironment() (Settings, error) {
	s := DefaultSettings()
	if err := readSwitch(EnvImmediate, &s.Immediate); err != nil {
		return s, err
	}
	if err := readSwitch(EnvOverlap, &s.Overlap); err != nil {
		return s, err
	}
	if err := readDuration(EnvSpin, &s.Spin); err != nil {
		return s, err
	}
	if err := readFlow(EnvFlow, &s.Flow); err != nil {
		return s, err
	}
	if err := readLaneBytes(&s.LaneBytes); err != nil {
		return s, err
	}
	if err := readHost(&s.Host); err != nil {
		return s, err
	}
	var err error
	if s.Faults, err = link.FaultsFromEnvironment(); err != nil {
		return s, fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	return s, nil
}

func readDuration(name string, value *time.Duration) error {
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%w: %s=%s is not a duration like 20us", ErrEnvironment, name, text)
	}
	*value = d
	return nil
}

func readHost(value *netip.Addr) error {
	text := os.Getenv(EnvHost)
	if text == "" {
		return nil
	}
	host, err := netip.ParseAddr(text)
	if err != nil {
		return fmt.Errorf("%w: %s=%s is not an address", ErrEnvironment, EnvHost, text)
	}
	*value = host
	return nil
}

func readLaneBytes(value *int64) error {
	text := os.Getenv(EnvLaneBytes)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%w: %s=%s is not a number of bytes", ErrEnvironment, EnvLaneBytes, text)
	}
	if *value = n; n == 0 {
		*value = -1
	}
	return nil
}

// laneMemory returns the limit for the lanes of a process.
func (s Settings) laneMemory() *channels.LaneMemory {
	if s.LaneBytes == 0 {
		return channels.NewLaneMemory(DefaultLaneBytes)
	}
	return channels.NewLaneMemory(max(s.LaneBytes, 0))
}

func readSwitch(name string, value *bool) error {
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%w: %s=%s, want 0 or 1", ErrEnvironment, name, text)
	}
	*value = on
	return nil
}

// spin returns how long to spin with localRanks ranks of the job on this node.
func (s Settings) spin(localRanks int) time.Duration {
	if s.Spin >= 0 {
		return s.Spin
	}
	if sharers, err := strconv.Atoi(os.Getenv(EnvCPURanks)); err == nil && sharers > 1 {
		return 0
	}
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil && set.Count() > 1 && localRanks > set.Count() {
		return 0
	}
	return DefaultSpin
}
