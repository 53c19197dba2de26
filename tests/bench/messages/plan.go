package messages

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Path is the way of the messages.
type Path string

// The paths.
const (
	Shm Path = "shm" // two ranks of one node
	UDP Path = "udp" // two nodes, on the loopback device
)

// Point is what is measured at a size: round trips, and messages one way.
type Point struct {
	Size, Rounds, Stream int
}

// Plan is what a program measures in one run.
type Plan []Point

// Sizes are the sizes of the curves, in bytes.
var Sizes = []int{8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}

// weights are how many times longer the sizes are measured that a target speaks of.
var weights = map[int]int{8: 4, 8192: 3, 65536: 3}

// LongSizes are the sizes for layers that take messages of any length.
var LongSizes = []int{
	8, 16, 32, 64, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10,
	256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20,
}

const (
	// share is what one measurement takes on a machine like the one the peers were first measured
	// on.
	share = 18 * time.Millisecond
	// minRounds is large enough that a single interruption does not decide a measurement.
	minRounds = 200
)

// speed is about how fast a path is; it only decides how long measuring takes.
type speed struct {
	fixed   time.Duration // one way, for the shortest message
	rate    time.Duration // for the next message of a stream
	perByte float64       // nanoseconds
}

var speeds = map[Path]speed{
	Shm: {fixed: 250 * time.Nanosecond, rate: 100 * time.Nanosecond, perByte: 0.12},
	UDP: {fixed: 4 * time.Microsecond, rate: 700 * time.Nanosecond, perByte: 0.5},
}

// NewPlan is the plan of all sizes on a path, the same for all programs.
func NewPlan(path Path) Plan {
	var p Plan
	s := speeds[path]
	for _, size := range Sizes {
		budget := float64(share) * float64(max(weights[size], 1))
		bytes := float64(size) * s.perByte
		p = append(p, Point{
			Size:   size,
			Rounds: max(int(budget/2/(float64(s.fixed)+bytes)), minRounds),
			Stream: max(int(budget/(float64(s.rate)+bytes)), minRounds),
		})
	}
	return p
}

const (
	// piece is what one of several measurements of the same takes: so short that on a busy machine
	// one of them is not interrupted, for the system gives a processor for 3 ms or more.
	piece = time.Millisecond
	// minPieces is the least of round trips or messages of it.
	minPieces = 4
)

// NewPieces returns a plan in which each size is measured the given number of times, in turn with
// the others.
func NewPieces(path Path, sizes []int, times int) Plan {
	var p Plan
	s := speeds[path]
	for range times {
		for _, size := range sizes {
			bytes := float64(size) * s.perByte
			p = append(p, Point{
				Size:   size,
				Rounds: max(int(float64(piece)/2/(float64(s.fixed)+bytes)), minPieces),
				Stream: max(int(float64(piece)/(float64(s.rate)+bytes)), minPieces),
			})
		}
	}
	return p
}

// String is what parsePlan and messages.c read.
func (p Plan) String() string {
	var parts []string
	for _, at := range p {
		parts = append(parts, fmt.Sprintf("%d:%d:%d", at.Size, at.Rounds, at.Stream))
	}
	return strings.Join(parts, ",")
}

var errPlan = errors.New("not a plan")

func parsePlan(text string) (Plan, error) {
	var p Plan
	for part := range strings.SplitSeq(text, ",") {
		var numbers [3]int
		fields := strings.Split(part, ":")
		if len(fields) != len(numbers) {
			return nil, fmt.Errorf("%w: %q", errPlan, part)
		}
		for i, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%w: %q", errPlan, part)
			}
			numbers[i] = n
		}
		p = append(p, Point{numbers[0], numbers[1], numbers[2]})
	}
	return p, nil
}
