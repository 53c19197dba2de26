package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// settingFields returns the settings. Users name them as the message does.
func settingFields() protoreflect.FieldDescriptors {
	return new(scorev1.Settings).ProtoReflect().Descriptor().Fields()
}

func settingNames() []string {
	fields := settingFields()
	names := make([]string, fields.Len())
	for i := range names {
		names[i] = string(fields.Get(i).Name())
	}
	return names
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
			"%w: a default of %s of memory per CPU is more than the most there can be, %s",
			ErrInvalid,
			AskedMemory(s.GetDefaultMemoryPerCpuBytes()),
			gang.FormatMemory(gang.MaxMemory),
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
func (c *controller) setSettings(from *scorev1.Settings, names []string) (*scorev1.Settings, error) {
	next, err := c.changedSettings(from, names)
	if err == nil {
		err = c.applySettings(next)
	}
	return next, err
}

// changedSettings returns the present settings with the named fields of others.
func (c *controller) changedSettings(from *scorev1.Settings, names []string) (*scorev1.Settings, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: name the settings to change: %v", ErrInvalid, settingNames())
	}
	next := proto.Clone(c.settings).(*scorev1.Settings)
	for _, name := range names {
		field := settingFields().ByName(protoreflect.Name(name))
		if field == nil {
			return nil, fmt.Errorf("%w: there is no setting %q; there are %v", ErrInvalid, clip(name), settingNames())
		}
		if name == "history" {
			if err := c.requireProtocol(protocol.History); err != nil {
				return nil, err
			}
		}
		copyField(next.ProtoReflect(), from.ProtoReflect(), field)
	}
	return next, nil
}

func copyField(to, from protoreflect.Message, field protoreflect.FieldDescriptor) {
	if from.Has(field) {
		to.Set(field, from.Get(field))
	} else {
		to.Clear(field)
	}
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
