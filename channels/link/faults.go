package link

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// FaultsVariable is the environment variable for [FaultsFromEnvironment].
const FaultsVariable = "SCORE_LINK_FAULTS"

// MaxFaultDelay bounds Faults.Delay: more is no network, but a mistake in the unit.
const MaxFaultDelay = 10 * time.Second

// ErrFaults is wrapped by the errors of [ParseFaults].
var ErrFaults = errors.New("link faults are not usable")

// Faults is what a bad network does to datagrams that leave. The probabilities are from 0 to 1.
type Faults struct {
	Loss      float64
	Duplicate float64
	Reorder   float64       // overtaken by some of those that follow
	Corrupt   float64       // one to three bits flipped
	Delay     time.Duration // of every datagram
	Seed      uint64        // of the dice; 0: a new one each time
}

// None reports whether there are no faults.
func (f Faults) None() bool {
	f.Seed = 0
	return f == Faults{}
}

// String is in the form of [ParseFaults].
func (f Faults) String() string {
	return fmt.Sprintf("loss=%v,dup=%v,reorder=%v,corrupt=%v,delay=%v,seed=%d", f.Loss, f.Duplicate, f.Reorder, f.Corrupt, f.Delay, f.Seed)
}

// FaultsFromEnvironment returns the faults of $SCORE_LINK_FAULTS, none if it is not set.
func FaultsFromEnvironment() (Faults, error) {
	f, err := ParseFaults(os.Getenv(FaultsVariable))
	if err != nil {
		return Faults{}, fmt.Errorf("$%s: %w", FaultsVariable, err)
	}
	return f, nil
}

// ParseFaults reads a list like loss=0.05,dup=0.02,reorder=0.1,corrupt=0.01,delay=200us,seed=7. Any
// part may be missing. Empty means no faults.
func ParseFaults(s string) (f Faults, err error) {
	if s == "" {
		return f, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return Faults{}, fmt.Errorf("%w: %q is not NAME=VALUE", ErrFaults, part)
		}
		if err := f.set(name, value); err != nil {
			return Faults{}, fmt.Errorf("%w: %s: %w", ErrFaults, name, err)
		}
	}
	return f, nil
}

// What is wrong with one of the faults.
var (
	errProbability = errors.New("must be a number from 0 to 1")
	errDelay       = fmt.Errorf("must be a duration from 0 to %v, such as 200us", MaxFaultDelay)
	errSeed        = errors.New("must be a whole number, 0 or more")
	errUnknown     = errors.New("unknown; there are loss, dup, reorder, corrupt, delay and seed")
)

func (f *Faults) set(name, value string) error {
	switch name {
	case "loss":
		return setProbability(&f.Loss, value)
	case "dup":
		return setProbability(&f.Duplicate, value)
	case "reorder":
		return setProbability(&f.Reorder, value)
	case "corrupt":
		return setProbability(&f.Corrupt, value)
	case "delay":
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 || d > MaxFaultDelay {
			return errDelay
		}
		f.Delay = d
		return nil
	case "seed":
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return errSeed
		}
		f.Seed = n
		return nil
	}
	return errUnknown
}

func setProbability(p *float64, value string) error {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 1 {
		return errProbability
	}
	*p = x
	return nil
}
