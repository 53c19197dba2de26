package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
)

// settingNames are the names of the settings, as in SetSettings.
var settingNames = []string{
	"slice_nanos", "max_rows", "default_memory_per_cpu_bytes", "usage_half_life_nanos", "fair_share_points",
	"age_per_point_nanos", "weight_step", "node_silence_nanos", "history", "max_processes",
	"kill_wait_nanos",
}

// CheckSettings refuses settings that the cluster cannot work with.
func CheckSettings(s *scorev1.Settings) error {
	slice := time.Duration(s.GetSliceNanos())
	switch {
	case slice < gang.MinSlice || slice > gang.MaxSlice:
		return fmt.Errorf("%w: a slice of %v is not between %v and %v", ErrInvalid, slice, gang.MinSlice, gang.MaxSlice)
	case s.GetMaxRows() < 1 || s.GetMaxRows() > gang.MaxRowsLimit:
		return fmt.Errorf("%w: %d rows are not between 1 and %d", ErrInvalid, s.GetMaxRows(), gang.MaxRowsLimit)
	case s.GetDefaultMemoryPerCpuBytes() > gang.MaxMemory:
		return fmt.Errorf(
			"%w: a default of %d bytes of memory per CPU is more than the most there can be, %d",
			ErrInvalid,
			s.GetDefaultMemoryPerCpuBytes(),
			int64(gang.MaxMemory),
		)
	}
	if half := time.Duration(s.GetUsageHalfLifeNanos()); half != 0 && (half < MinHalfLife || half > MaxHalfLife) {
		return fmt.Errorf("%w: a half-life of %v is not between %v and %v", ErrInvalid, half, MinHalfLife, MaxHalfLife)
	}
	if s.GetFairSharePoints() > MaxFairSharePoints {
		return fmt.Errorf("%w: %d points are more than the most, %d", ErrInvalid, s.GetFairSharePoints(), MaxFairSharePoints)
	}
	if silence := time.Duration(s.GetNodeSilenceNanos()); silence != 0 && (silence < MinNodeSilence || silence > MaxNodeSilence) {
		return fmt.Errorf("%w: a node may be silent for %v to %v, not %v", ErrInvalid, MinNodeSilence, MaxNodeSilence, silence)
	}
	if wait := time.Duration(s.GetKillWaitNanos()); wait != 0 && (wait < MinKillWait || wait > MaxKillWait) {
		return fmt.Errorf("%w: %v from SIGTERM to SIGKILL are not between %v and %v", ErrInvalid, wait, MinKillWait, MaxKillWait)
	}
	if age := time.Duration(s.GetAgePerPointNanos()); age != 0 && (age < MinAgePerPoint || age > gang.MaxAgePerPoint) {
		return fmt.Errorf("%w: %v of waiting for a point of priority are not between %v and %v", ErrInvalid, age, MinAgePerPoint, gang.MaxAgePerPoint)
	}
	if n := s.GetHistory(); n > state.MaxFinished {
		return fmt.Errorf("%w: a history of %d jobs is longer than the most, %d", ErrInvalid, n, state.MaxFinished)
	}
	if n := s.GetMaxProcesses(); n != 0 && (n < MinProcessLimit || n > MaxProcessLimit) {
		return fmt.Errorf("%w: %d processes are not between %d and %d", ErrInvalid, n, MinProcessLimit, MaxProcessLimit)
	}
	if step := s.GetWeightStep(); step > gang.MaxPriority {
		return fmt.Errorf("%w: a step of %d points is more than the most, %d", ErrInvalid, step, gang.MaxPriority)
	}
	return nil
}

const (
	// DefaultMaxProcesses is the default number of processes and threads that a job may have on a
	// node: half of the smallest default of kernel.pid_max (32,768), so that no job uses all, and
	// 64 for each rank of a node with 256 CPUs.
	DefaultMaxProcesses = 16384
	// MinProcessLimit lets a shell run a program; MaxProcessLimit is the kernel's PID_MAX_LIMIT.
	MinProcessLimit, MaxProcessLimit = 16, 1 << 22
)

// MinAgePerPoint makes the highest priority worth a day of waiting, so that priorities have an
// effect.
const MinAgePerPoint = 100 * time.Millisecond

// setSettings changes the named fields, which take effect at once.
func (c *controller) setSettings(from *scorev1.Settings, fields []string, answer func(*scorev1.Settings, error)) {
	next := proto.Clone(c.settings).(*scorev1.Settings)
	if len(fields) == 0 {
		answer(nil, fmt.Errorf("%w: name the settings to change: %v", ErrInvalid, settingNames))
		return
	}
	for _, field := range fields {
		switch {
		case !slices.Contains(settingNames, field):
			answer(nil, fmt.Errorf("%w: there is no setting %q; there are %v", ErrInvalid, clip(field), settingNames))
			return
		case field == "slice_nanos":
			next.SliceNanos = from.GetSliceNanos()
		case field == "max_rows":
			next.MaxRows = from.GetMaxRows()
		case field == "default_memory_per_cpu_bytes":
			next.DefaultMemoryPerCpuBytes = from.GetDefaultMemoryPerCpuBytes()
		case field == "usage_half_life_nanos":
			next.UsageHalfLifeNanos = from.GetUsageHalfLifeNanos()
		case field == "fair_share_points":
			next.FairSharePoints = from.FairSharePoints
		case field == "age_per_point_nanos":
			next.AgePerPointNanos = from.GetAgePerPointNanos()
		case field == "weight_step":
			next.WeightStep = from.GetWeightStep()
		case field == "history" && c.requireProtocol(protocol.History) != nil:
			answer(nil, c.requireProtocol(protocol.History))
			return
		case field == "history":
			next.History = from.GetHistory()
		case field == "max_processes":
			next.MaxProcesses = from.GetMaxProcesses()
		case field == "kill_wait_nanos":
			next.KillWaitNanos = from.GetKillWaitNanos()
		case field == "node_silence_nanos":
			next.NodeSilenceNanos = from.GetNodeSilenceNanos()
		}
	}
	if err := c.applySettings(next); err != nil {
		answer(nil, err)
		return
	}
	c.call(func(err error) { answer(next, err) })
}

func (c *controller) applySettings(next *scorev1.Settings) error {
	if err := CheckSettings(next); err != nil {
		return err
	}
	if err := c.gang.Configure(gangConfig(next)); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c.settings = next
	c.propose(&statepb.Command{Command: &statepb.Command_SetSettings{SetSettings: &statepb.SetSettings{Settings: next}}})
	c.placeDirty, c.planDirty = true, true
	return nil
}
