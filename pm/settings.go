package pm

import (
	"cmp"
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
	// EnvCPURanks is how many ranks of the job share each of the rank's CPUs, also those of other
	// nodes of the machine. The launcher sets it; a rank that is bound to one CPU cannot find out
	// by itself.
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
	err := cmp.Or(
		read(EnvImmediate, "0 or 1", strconv.ParseBool, &s.Immediate),
		read(EnvOverlap, "0 or 1", strconv.ParseBool, &s.Overlap),
		read(EnvSpin, "a duration like 20us", parseSpin, &s.Spin),
		read(EnvFlow, "nack or credits", parseFlow, &s.Flow),
		read(EnvLaneBytes, "a number of bytes", parseLaneBytes, &s.LaneBytes),
		read(EnvHost, "an address", netip.ParseAddr, &s.Host),
	)
	if err != nil {
		return s, err
	}
	if s.Faults, err = link.FaultsFromEnvironment(); err != nil {
		return s, fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	return s, nil
}

// read sets a value from a variable, if that is set; want says what the variable must be.
func read[T any](name, want string, parse func(string) (T, error), value *T) error {
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	parsed, err := parse(text)
	if err != nil {
		return fmt.Errorf("%w: %s=%s, want %s", ErrEnvironment, name, text, want)
	}
	*value = parsed
	return nil
}

func parseSpin(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return d, err
}

// parseLaneBytes returns -1 for 0 bytes: in Settings 0 is the default.
func parseLaneBytes(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if n == 0 {
		return -1, err
	}
	return int64(n), err
}

// laneMemory returns the limit for the lanes of a process.
func (s Settings) laneMemory() *channels.LaneMemory {
	if s.LaneBytes == 0 {
		return channels.NewLaneMemory(DefaultLaneBytes)
	}
	return channels.NewLaneMemory(max(s.LaneBytes, 0))
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
