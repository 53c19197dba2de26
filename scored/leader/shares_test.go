package leader

import (
	"errors"
	"math"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
)

// usageOf returns a node's report on usage.
func usageOf(d time.Duration) *scorev1.Usage {
	return &scorev1.Usage{CpuNanos: 2 * d.Nanoseconds(), RunNanos: d.Nanoseconds()}
}

// Two users who submit without end get the cluster's time by their shares, even if one started much
// earlier and asks for more at once.
func TestFairShare(t *testing.T) {
	const length, rounds = 10 * time.Minute, 500
	w := newWorld(t)
	w.quiet = true
	if err := w.b.applySettings(&scorev1.Settings{SliceNanos: 1e8, MaxRows: 1, UsageHalfLifeNanos: (6 * time.Hour).Nanoseconds()}); err != nil {
		t.Fatal(err)
	}
	w.connect(hello("n1", 2))
	for uid, share := range map[uint32]uint32{1: 200, 2: 100} {
		if _, err := w.b.setUser(uid, "u", &scorev1.User{Share: share}, []string{"share"}); err != nil {
			t.Fatal(err)
		}
	}
	w.settle()
	waiting := map[uint32]int{1: 2, 2: 5} // user 2 always has more jobs in the queue
	ran := make(map[uint32]float64)
	for round := range rounds {
		for uid := uint32(1); uid <= 2; uid++ {
			if uid == 1 && round < 50 {
				continue
			}
			for w.b.accounts.of(uid, "").jobs < waiting[uid] {
				w.b.submit(jobSpec(2), &scorev1.Identity{Uid: uid, User: "u"}, Caller{UID: uid}, func(_ uint64, err error) {
					if err != nil {
						t.Fatal(err)
					}
				})
			}
		}
		w.settle()
		for _, j := range w.b.sortedJobs() {
			if j.state != starting {
				continue
			}
			w.receive("n1", prepared(j.id))
			w.receive("n1", launched(j.id, w.b.now))
			w.advance(length)
			w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: &agentpb.NodeDone{JobId: j.id, Usage: usageOf(length)}}})
			if round >= 200 { // earlier usage has decayed by then
				ran[j.user.GetUid()]++
			}
			break
		}
	}
	if ratio := ran[1] / ran[2]; math.Abs(ratio-2) > 0.1 {
		t.Errorf("user 1 ran %v jobs, user 2 %v: %.2f, want 2", ran[1], ran[2], ratio)
	}
	one, two := w.log.User(1), w.log.User(2)
	if one.Held+two.Held != rounds*uint64((2*length).Microseconds()) || one.CPU != one.Held || one.Jobs+two.Jobs != rounds {
		t.Errorf("charged %+v and %+v", one, two)
	}
}

// A long job is charged while it runs, once, whichever server leads.
func TestChargedWhileItRuns(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	id, _ := w.submit(jobSpec(2))
	w.receive("n1", prepared(id))
	w.receive("n1", launched(id, w.b.now))
	report := func(d time.Duration) {
		w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_SwitchReport{SwitchReport: &agentpb.SwitchReport{
			Usage: []*agentpb.SwitchReport_JobUsage{{JobId: id, Usage: usageOf(d)}},
		}}})
		w.advance(2 * weighEvery)
	}
	report(time.Minute)
	if u := w.log.User(7); u == nil || u.Held != 120e6 || u.CPU != 120e6 {
		t.Fatalf("%+v", u)
	}
	w.restart()
	w.connect(hello("n1", 2, id))
	report(2 * time.Minute)
	w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: &agentpb.NodeDone{JobId: id, Usage: usageOf(3 * time.Minute)}}})
	if u := w.log.User(7); u.Held != 360e6 || u.CPU != 360e6 || u.Jobs != 1 {
		t.Fatalf("%+v", u)
	}
}

// TestSharesOfSlices: the slices of running gangs follow their users' shares as soon as these are
// set, and under the next leader.
func TestSharesOfSlices(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	w.b.submit(jobSpec(2), &scorev1.Identity{Uid: 8, User: "bob"}, owner, func(uint64, error) {})
	bobs := uint64(1)
	adas, _ := w.submit(jobSpec(2))
	for _, id := range []uint64{bobs, adas} {
		w.receive("n1", prepared(id))
		w.receive("n1", launched(id, w.b.now))
	}
	slices := func() (ada, bob time.Duration) {
		for _, row := range w.b.gang.Rows() {
			if row.Jobs[0] == gang.JobID(adas) {
				ada = row.Slice
			} else {
				bob = row.Slice
			}
		}
		return ada, bob
	}
	if ada, bob := slices(); ada == 0 || ada != bob {
		t.Errorf("slices of %v and %v without shares", ada, bob)
	}
	if _, err := w.b.setUser(7, "ada", &scorev1.User{Share: 200}, []string{"share"}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if ada, bob := slices(); ada != 2*bob || bob == 0 {
		t.Errorf("slices of %v and %v with shares of 200 and 100", ada, bob)
	}
	w.restart()
	w.connect(hello("n1", 2, bobs, adas))
	if ada, bob := slices(); ada != 2*bob || bob == 0 {
		t.Errorf("slices of %v and %v under the next leader", ada, bob)
	}
}

func TestPoints(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	id, err := w.submit(jobSpec(2))
	if err != nil {
		t.Fatal(err)
	}
	w.receive("n1", prepared(id))
	w.receive("n1", launched(id, w.b.now))
	w.advance(2 * weighEvery)
	if points := w.b.accounts.byUID[7].points; points != DefaultFairSharePoints/2 {
		t.Errorf("%d points for one who has all there is", points)
	}
	if err := w.b.applySettings(&scorev1.Settings{SliceNanos: 1e8, MaxRows: 1, FairSharePoints: proto.Uint32(0)}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.advance(2 * weighEvery)
	if points := w.b.accounts.byUID[7].points; points != 0 {
		t.Errorf("%d points where there are none", points)
	}
	for _, bad := range []*scorev1.Settings{
		{SliceNanos: 1e8, MaxRows: 1, UsageHalfLifeNanos: 1},
		{SliceNanos: 1e8, MaxRows: 1, UsageHalfLifeNanos: math.MaxInt64},
		{SliceNanos: 1e8, MaxRows: 1, FairSharePoints: proto.Uint32(MaxFairSharePoints + 1)},
	} {
		if err := w.b.applySettings(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestPriorityHasABound: users may ask for a lower priority, and for a higher one up to their
// limit; operators for any.
func TestPriorityHasABound(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		bound := func(priority *int32) {
			t.Helper()
			if _, err := l.SetUser(t.Context(), 7, "ada", &scorev1.User{Limits: &scorev1.UserLimits{Priority: priority}}, []string{"priority"}); err != nil {
				t.Fatal(err)
			}
		}
		user, operator := Caller{UID: 7, Role: scorev1.Role_ROLE_USER}, Caller{UID: 7, Role: scorev1.Role_ROLE_OPERATOR}
		try := func(caller Caller, priority int32, want string) {
			t.Helper()
			spec := jobSpec(1)
			spec.Priority = priority
			_, err := l.Submit(t.Context(), spec, ada, caller)
			if (want == "") != (err == nil) || err != nil && (!errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), want)) {
				t.Errorf("priority %d of %v: %v, want %q", priority, caller, err, want)
			}
		}
		try(user, -5, "")
		try(user, 0, "")
		try(user, 1, "asks for priority 1, and yours may be at most 0")
		try(operator, 400, "")
		priority := int32(50)
		bound(&priority)
		try(user, 50, "")
		try(user, 51, "yours may be at most 50")
		bound(nil)
		try(user, 50, "at most 0")
		for _, bad := range []int32{-1, gang.MaxPriority + 1} {
			if _, err := l.SetUser(
				t.Context(),
				7,
				"ada",
				&scorev1.User{Limits: &scorev1.UserLimits{Priority: &bad}},
				[]string{"priority"},
			); !errors.Is(
				err,
				ErrInvalid,
			) {
				t.Errorf("a bound of %d: %v", bad, err)
			}
		}
	})
}

// TestWeigh: who holds all CPUs has used twice an equal share, and a quarter of the points are
// left; users without jobs have none.
func TestWeigh(t *testing.T) {
	users := accounts{byUID: make(map[uint32]*account)}
	for uid := range uint32(3) {
		users.byUID[uid] = users.of(uid, "u")
	}
	users.byUID[0].jobs, users.byUID[1].jobs = 1, 1
	users.weigh(1, &scorev1.Settings{}, nil, func(uid uint32) int { return map[uint32]int{0: 4}[uid] })
	for uid, want := range []int{DefaultFairSharePoints / 4, DefaultFairSharePoints, 0} {
		if got := users.byUID[uint32(uid)].points; got != want {
			t.Errorf("user %d has %d points, want %d", uid, got, want)
		}
	}
}
