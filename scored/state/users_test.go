package state

import (
	"errors"
	"math"
	"math/big"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"testing"

	"pgregory.net/rapid"
)

func setUser(uid uint32, role scorev1.Role, share uint32) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_SetUser{SetUser: &statepb.SetUser{
		Uid: uid, Name: "ann", Role: role, Share: share, Limits: &scorev1.UserLimits{Jobs: share},
	}}}
}

func charge(id JobID, cpu, run int64) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_Charge{Charge: &statepb.Charge{
		Jobs: []*statepb.JobUsage{{JobId: id, Usage: &scorev1.Usage{CpuNanos: cpu, RunNanos: run}}},
	}}}
}

func halfLife(nanos int64) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_SetSettings{SetSettings: &statepb.SetSettings{
		Settings: &scorev1.Settings{SliceNanos: 1, MaxRows: 1, UsageHalfLifeNanos: nanos},
	}}}
}

func TestDecay(t *testing.T) {
	const week = DefaultHalfLife
	for _, c := range []struct {
		amount  uint64
		elapsed int64
		want    uint64
	}{
		{1000, 0, 1000},
		{1000, -5, 1000},
		{1000, week, 500},
		{1000, 3 * week, 125},
		{1 << 40, week / 2, 777472127993},
		{math.MaxUint64, 63 * week, 1},
		{math.MaxUint64, 64 * week, 0},
		{math.MaxUint64, math.MaxInt64, 0},
		{0, week, 0},
	} {
		if got := decay(c.amount, c.elapsed, week); got != c.want {
			t.Errorf("%d after %d: %d, want %d", c.amount, c.elapsed, got, c.want)
		}
	}
	if decay(7, week, 0) != 7 {
		t.Error("without a half-life nothing decays")
	}
}

// decay in integers approximates 2^(-t/h) and never exceeds the amount.
func TestDecayIsExponential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Uint64Max(1<<62).Draw(t, "amount")
		half := rapid.Int64Range(1, 400*24*3600*1e9).Draw(t, "half-life")
		elapsed := rapid.Int64Range(0, 20).Draw(t, "times") * half / 7
		got := decay(amount, elapsed, half)
		want := float64(amount) * math.Exp2(-float64(elapsed)/float64(half))
		if math.Abs(float64(got)-want) > 64+want*1e-8 {
			t.Fatalf("%d after %d of %d: %d, want %v", amount, elapsed, half, got, want)
		}
		if decay(amount, elapsed+1, half) > got+uint64(len(halves)) { // each factor rounds down
			t.Fatal("it grew")
		}
	})
}

// TestDecayTable recomputes the table by square roots of big numbers.
func TestDecayTable(t *testing.T) {
	factor := new(big.Float).SetPrec(300).SetFloat64(0.5)
	unit := new(big.Float).SetPrec(300).SetMantExp(big.NewFloat(1), 64)
	for k, have := range halves {
		factor.Sqrt(factor)
		want, _ := new(big.Float).Mul(factor, unit).Uint64()
		if have != want {
			t.Errorf("halves[%d] is %#x, want %#x", k, have, want)
		}
	}
}

// A job that is charged while it runs and at its end is charged once.
func TestCharged(t *testing.T) {
	s := twoNodes(t) // job 2 has one CPU on each of two nodes; its user is 2
	mustApply(t, s, charge(2, 5e9, 2e9))
	mustApply(t, s, charge(2, 7e9, 3e9))
	mustApply(t, s, charge(2, 1e9, 1e9)) // an agent that began again
	finish := end(2)
	finish.GetEnd().Usage = &scorev1.Usage{CpuNanos: 9e9, RunNanos: 4e9 + 999}
	mustApply(t, s, finish)
	u := s.User(2)
	if u == nil || u.CPU != 9e6 || u.Held != 8e6 || u.Jobs != 1 || u.Name != "u" || u.Share != DefaultShare || u.Role != scorev1.Role_ROLE_USER {
		t.Fatalf("%+v", u)
	}
	if left := u.Recent(s.Nanos(), s.HalfLife()); left < 8e6-100 || left > 8e6 {
		t.Errorf("%d are left", left)
	}
	if left := u.Recent(s.Nanos()+DefaultHalfLife, s.HalfLife()); left < 4e6-100 || left > 4e6 {
		t.Errorf("%d are left after the half-life", left)
	}
	if err := s.Apply(entry(s.Nanos()+1, charge(2, 1, 1))); !errors.Is(err, ErrPhase) {
		t.Errorf("a job that has ended was charged: %v", err)
	}
}

// An exclusive job is charged for whole nodes; a job that shares its parent's CPUs for none.
func TestHeldCPUs(t *testing.T) {
	s := New()
	mustApply(t, s, node("n1", 4), node("n2", 2))
	exclusive := submit(1, 1)
	exclusive.GetSubmit().Spec.Exclusive = true
	mustApply(t, s, exclusive, submit(2, 2), submit(3, 2))
	mustApply(t, s, allocate(1, 0, place("n1", []uint32{0}, []uint32{0})))
	mustApply(t, s, allocate(2, 0, place("n2", []uint32{0, 1}, []uint32{0})))
	child := allocate(3, 0, place("n2", []uint32{0, 1}, []uint32{0, 1}))
	child.GetAllocate().Gang = 2
	mustApply(t, s, child)
	for id, want := range map[JobID]uint32{1: 4, 2: 1, 3: 1} {
		if got := s.Job(id).HeldCPUs; got != want {
			t.Errorf("job %d is charged for %d CPUs, want %d", id, got, want)
		}
	}
	mustApply(t, s, requeue(1))
	if s.Job(1).HeldCPUs != 0 {
		t.Error("a queued job is charged")
	}
}

func TestSetUser(t *testing.T) {
	s := twoNodes(t)
	mustApply(t, s, charge(2, 5e9, 2e9))
	mustApply(t, s, setUser(2, scorev1.Role_ROLE_OPERATOR, 7))
	if u := s.User(2); u.Role != scorev1.Role_ROLE_OPERATOR || u.Share != 7 || u.Limits.GetJobs() != 7 || u.CPU != 5e6 || u.Name != "ann" {
		t.Errorf("%+v", u)
	}
	for _, bad := range []*statepb.Command{setUser(2, 0, 1), setUser(2, 4, 1), setUser(2, 1, 0), setUser(2, 1, MaxShare+1)} {
		if err := s.Apply(entry(s.Nanos()+1, bad)); !errors.Is(err, ErrCommand) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A new half-life applies from its setting on, not to the time before.
func TestHalfLifeChanges(t *testing.T) {
	s := twoNodes(t)
	mustApply(t, s, charge(3, 0, 8e9))
	uid := s.Job(3).User.GetUid()
	at := s.Nanos() + DefaultHalfLife
	if err := s.Apply(entry(at, halfLife(10))); err != nil {
		t.Fatal(err)
	}
	if left := s.User(uid).Recent(at, s.HalfLife()); left < 4e6-100 || left > 4e6 {
		t.Errorf("%d left at the change", left)
	}
	if left := s.User(uid).Recent(at+20, s.HalfLife()); left < 1e6-100 || left > 1e6 {
		t.Errorf("%d left after two new half-lives", left)
	}
}
