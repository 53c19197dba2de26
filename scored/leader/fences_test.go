package leader

import (
	"math"
	"score/scored/api/scorev1"
	"testing"

	"google.golang.org/protobuf/proto"
)

// The nodes of a job report the same fences, and each its own bytes. A node that reports nothing,
// or starts again from zero, does not reduce the sums; attempts add up.
func TestFencesOfNodes(t *testing.T) {
	say := func(fences, plain, packed uint64) *scorev1.Fences {
		return &scorev1.Fences{Fences: fences, PlainBytes: plain, PackedBytes: packed}
	}
	j := &job{attempt: attempt{parts: []*part{{}, {}, {}}}}
	if f := j.usage().GetFences(); f != nil {
		t.Errorf("of nothing: %v", f)
	}
	j.parts[0].recordUsage(&scorev1.Usage{Fences: say(3, 100, 40)}, 1)
	j.parts[1].recordUsage(&scorev1.Usage{Fences: say(2, 50, 10)}, 1)
	j.parts[0].recordUsage(&scorev1.Usage{}, 2)
	if f := j.usage().GetFences(); !proto.Equal(f, say(3, 150, 50)) {
		t.Errorf("of two nodes: %v", f)
	}
	j.earlier = &scorev1.Usage{Fences: say(5, math.MaxUint64, 1)}
	if f := j.usage().GetFences(); !proto.Equal(f, say(8, math.MaxUint64, 51)) {
		t.Errorf("with an earlier attempt: %v", f)
	}
}
