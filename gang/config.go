package gang

import (
	"fmt"
	"time"
)

// Defaults and bounds of Config.
const (
	// DefaultMaxRows lets eight gangs share a CPU: with the default slice a
	// gang of the lowest weight is back within three seconds in the worst case,
	// which a user at a terminal still takes for running.
	DefaultMaxRows = 8
	// MaxRowsLimit bounds the work of looking through all rows.
	MaxRowsLimit = 64

	// DefaultSlice makes a switch of 150 us cost 0.15 % of the time.
	DefaultSlice = 100 * time.Millisecond
	// MinSlice keeps the cost of switching below about 15 %.
	MinSlice = time.Millisecond
	// MaxSlice is the longest a user would wait for a turn without taking
	// the job for dead.
	MaxSlice = time.Minute

	// DefaultAgePerPoint makes a minute of waiting worth one point of priority.
	DefaultAgePerPoint = time.Minute
	// MaxAgePerPoint, with MaxPriority, keeps the queue's keys within int64
	// (3.6e18 ns beside a Unix time of 1.8e18 ns).
	MaxAgePerPoint = time.Hour

	// DefaultWeightStep gives weight 2 to priority 100, 4 to 300 and above.
	DefaultWeightStep = 100
	// maxUrgency bounds how much longer than the default a slice gets by priority,
	// so that high priority is faster but starves nobody.
	maxUrgency = 4
	// UsualWeight is the weight of a gang of usual priority whose owner has the usual
	// share: its slice is Config.Slice. The least weight is 1: a quarter of the default
	// slice, at which a switch of 150 us costs 0.6 % of the time.
	UsualWeight = 4
	// MaxWeight bounds what priority and share give together: four default slices,
	// so that with eight rows everybody is back within three seconds.
	MaxWeight = maxUrgency * UsualWeight
)

// Config holds the settings of a Machine. Zero values stand for the defaults.
type Config struct {
	// MaxRows is the most time slots, 1 to MaxRowsLimit: how many gangs may
	// share a CPU in time. 1 means no time sharing.
	MaxRows int
	// Slice is the slice of a row of weight 1, MinSlice to MaxSlice.
	Slice time.Duration
	// AgePerPoint is how long a job must wait to gain one point of priority, up to
	// MaxAgePerPoint. A job of priority p goes before jobs of priority 0 that
	// were submitted up to p*AgePerPoint before it, and after older ones.
	AgePerPoint time.Duration
	// WeightStep is how many points of priority make a gang's slice longer by Slice,
	// at the usual share of its owner. The slice of a row is that of its weightiest
	// gang, a quarter of Slice to four times Slice.
	WeightStep int
}

func (c Config) withDefaults() Config {
	if c.MaxRows == 0 {
		c.MaxRows = DefaultMaxRows
	}
	if c.Slice == 0 {
		c.Slice = DefaultSlice
	}
	if c.AgePerPoint == 0 {
		c.AgePerPoint = DefaultAgePerPoint
	}
	if c.WeightStep == 0 {
		c.WeightStep = DefaultWeightStep
	}
	return c
}

// Validate reports the first setting out of its bounds.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.MaxRows < 1 || c.MaxRows > MaxRowsLimit:
		return fmt.Errorf("%w: rows %d, must be 1 to %d", ErrBadConfig, c.MaxRows, MaxRowsLimit)
	case c.Slice < MinSlice || c.Slice > MaxSlice:
		return fmt.Errorf("%w: slice %v, must be %v to %v", ErrBadConfig, c.Slice, MinSlice, MaxSlice)
	case c.AgePerPoint < 0 || c.AgePerPoint > MaxAgePerPoint:
		return fmt.Errorf("%w: age per point %v, must be above 0 and at most %v", ErrBadConfig, c.AgePerPoint, MaxAgePerPoint)
	case c.WeightStep < 0:
		return fmt.Errorf("%w: weight step %d, must be above 0", ErrBadConfig, c.WeightStep)
	}
	return nil
}

// weight returns the weight of a priority and a share: UsualWeight for the usual ones, proportional
// to the share.
func (c *Config) weight(priority, share int) int {
	urgency := min(max(1+priority/c.WeightStep, 1), maxUrgency)
	const half = UsualShare / 2 // rounds
	return min(max((urgency*UsualWeight*share+half)/UsualShare, 1), MaxWeight)
}

// sliceOf returns a row's slice by its weight. The lightest row has at least MinSlice, and the
// others are longer in proportion.
func (c *Config) sliceOf(weight, lightest int) time.Duration {
	if shortest := c.Slice * time.Duration(lightest) / UsualWeight; shortest < MinSlice {
		return MinSlice * time.Duration(weight) / time.Duration(lightest)
	}
	return c.Slice * time.Duration(weight) / UsualWeight
}
