package gang

import (
	"fmt"
	"time"
)

// Defaults and bounds of Config.
const (
	// DefaultMaxRows lets eight gangs share a CPU. With the default slice, a gang of the lowest
	// weight runs again within three seconds in the worst case; a user at a terminal still sees a
	// running program.
	DefaultMaxRows = 8
	// MaxRowsLimit bounds the work of a search through all rows.
	MaxRowsLimit = 64

	// DefaultSlice keeps the cost of a switch of 150 us at 0.15 % of the time.
	DefaultSlice = 100 * time.Millisecond
	// MinSlice keeps the cost of switching below about 15 %.
	MinSlice = time.Millisecond
	// MaxSlice bounds the wait for a turn: after longer waits, users take a job for dead.
	MaxSlice = time.Minute

	// DefaultAgePerPoint makes a minute of waiting worth one point of priority.
	DefaultAgePerPoint = time.Minute
	// MaxAgePerPoint, with MaxPriority, keeps the queue's keys within int64
	// (3.6e18 ns beside a Unix time of 1.8e18 ns).
	MaxAgePerPoint = time.Hour

	// DefaultWeightStep makes slices twice as long at priority 100 and four times at 300 and above.
	DefaultWeightStep = 100
	// maxUrgency bounds the factor by which priority lengthens a slice, so that jobs of high
	// priority are faster but do not starve others.
	maxUrgency = 4
	// UsualWeight is the weight of a gang of usual priority with an owner of the usual share: its
	// slice is Config.Slice. The lowest weight is 1, a quarter of the default slice, for which a
	// switch of 150 us costs 0.6 % of the time.
	UsualWeight = 4
	// MaxWeight bounds the combined weight of priority and share to four default slices, so that
	// with eight rows every gang runs again within three seconds.
	MaxWeight = maxUrgency * UsualWeight
)

// Config holds the settings of a Machine. Zero values stand for the defaults.
type Config struct {
	// MaxRows is the highest number of time slots, 1 to MaxRowsLimit, and so the number of gangs
	// that may share a CPU in time. 1 means no time sharing.
	MaxRows int
	// Slice is the slice of a row of UsualWeight, MinSlice to MaxSlice.
	Slice time.Duration
	// AgePerPoint is the waiting time by which a job gains one point of priority, up to
	// MaxAgePerPoint. A job of priority p goes before jobs of priority 0 that were submitted up to
	// p*AgePerPoint before it, and after older ones.
	AgePerPoint time.Duration
	// WeightStep is the number of points of priority that lengthen a gang's slice by Slice, at the
	// usual share of its owner. A row has the slice of its gang of the highest weight, from a
	// quarter of Slice to four times Slice.
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

// weight returns the weight of a gang with the given priority and share: UsualWeight for usual
// values, and in proportion to the share.
func (c *Config) weight(priority, share int) int {
	urgency := min(max(1+priority/c.WeightStep, 1), maxUrgency)
	const half = UsualShare / 2 // rounds
	return min(max((urgency*UsualWeight*share+half)/UsualShare, 1), MaxWeight)
}

// sliceOf returns a row's slice by its weight. The row of the lowest weight has at least MinSlice,
// and the others are longer in proportion.
func (c *Config) sliceOf(weight, lightest int) time.Duration {
	if shortest := c.Slice * time.Duration(lightest) / UsualWeight; shortest < MinSlice {
		return MinSlice * time.Duration(weight) / time.Duration(lightest)
	}
	return c.Slice * time.Duration(weight) / UsualWeight
}
