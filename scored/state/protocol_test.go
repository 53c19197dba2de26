package state

import (
	"bytes"
	"errors"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"testing"

	"google.golang.org/protobuf/proto"
)

func raise(version uint32) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_Raise{Raise: &statepb.Raise{Protocol: version}}}
}

func history(jobs uint32) *statepb.Command {
	settings := DefaultSettings()
	settings.History = jobs
	return &statepb.Command{Command: &statepb.Command_SetSettings{SetSettings: &statepb.SetSettings{Settings: settings}}}
}

func TestProtocolIsRaised(t *testing.T) {
	s := New()
	if err := s.Apply(entry(0, history(5))); !errors.Is(err, ErrCommand) {
		t.Errorf("a later protocol's setting in the first: %v", err)
	}
	before := image(t, s)
	for version, want := range map[uint32]error{0: ErrCommand, 1: ErrCommand, protocol.Own().Newest + 1: ErrProtocol} {
		if err := s.Apply(entry(0, raise(version))); !errors.Is(err, want) {
			t.Errorf("raised to %d: %v", version, err)
		}
	}
	if err := s.Apply(entry(0, raise(2), raise(2))); err == nil || s.Protocol() != protocol.First || !bytes.Equal(image(t, s), before) {
		t.Errorf("a bad entry: %v, protocol %d", err, s.Protocol())
	}
	mustApply(t, s, raise(2), history(5))
	restored, err := Restore(image(t, s))
	if err != nil || restored.Protocol() != 2 || FinishedOf(restored.Settings()) != 5 {
		t.Errorf("restored: %v", err)
	}
}

// TestSnapshotsOfLaterProtocols: they are refused; snapshots of the first protocol have the format
// that they always had.
func TestSnapshotsOfLaterProtocols(t *testing.T) {
	s := New()
	formatOf := func() *statepb.Snapshot {
		snapshot := new(statepb.Snapshot)
		if err := proto.Unmarshal(image(t, s), snapshot); err != nil {
			t.Fatal(err)
		}
		return snapshot
	}
	if first := formatOf(); first.GetFormat() != 1 || first.GetProtocol() != 0 {
		t.Errorf("the first protocol: %v", first)
	}
	mustApply(t, s, raise(2))
	later := formatOf()
	if later.GetFormat() != 2 {
		t.Errorf("the second protocol: %v", later)
	}
	later.Protocol = protocol.Own().Newest + 1
	data, err := proto.Marshal(later)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(data); !errors.Is(err, ErrProtocol) {
		t.Errorf("a snapshot of a later protocol: %v", err)
	}
}

// TestTextsThatAreNotUTF8: they need their protocol, and a snapshot preserves them.
func TestTextsThatAreNotUTF8(t *testing.T) {
	odd := submit(1, 1)
	odd.GetSubmit().Spec.Argv, odd.GetSubmit().Spec.Env, odd.GetSubmit().Spec.WorkDir = []string{"a\xff", "\xfe"}, []string{"A\xfd=\xfc"}, "/\x80"
	given := submit(1, 1)
	given.GetSubmit().Preput = []*statepb.Pair{{Key: "k\xff", Value: "v\xfe"}}
	named := publish(1, "ocean\xff")
	for _, command := range []*statepb.Command{odd, given, named} {
		if got := Needs(command); got != protocol.Texts {
			t.Errorf("%v needs %d", command, got)
		}
	}
	if got := Needs(submit(1, 1)); got != protocol.First {
		t.Errorf("a job in UTF-8 needs %d", got)
	}
	s := New()
	mustApply(t, s, raise(protocol.Texts), node("n1", 2), odd, allocate(1, 0, place("n1", []uint32{0}, []uint32{0})), markRunning(1), named)
	restored, err := Restore(image(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if got := restored.Job(1).Spec; !proto.Equal(got, odd.GetSubmit().GetSpec()) {
		t.Errorf("restored: %v", got)
	}
	if names := restored.Names(); len(names) != 1 || names[0].Service != "ocean\xff" {
		t.Errorf("restored: %v", names)
	}
}

func TestHistoryIsAsLongAsSet(t *testing.T) {
	s := New()
	mustApply(t, s, raise(2), history(5))
	for id := JobID(1); id <= 9; id++ {
		mustApply(t, s, submit(id, 1), end(id))
	}
	if got := s.Finished(); len(got) != 5 || got[0].ID != 5 {
		t.Errorf("%d jobs are kept", len(got))
	}
	before := image(t, s)
	if err := s.Apply(entry(s.Nanos(), history(2), end(1))); err == nil || !bytes.Equal(image(t, s), before) {
		t.Error("taking back a shorter history changed the state")
	}
	mustApply(t, s, history(2))
	if got := s.Finished(); len(got) != 2 || got[0].ID != 8 || s.Job(7) != nil {
		t.Errorf("%d jobs are kept", len(got))
	}
	if err := s.Apply(entry(s.Nanos(), history(MaxFinished+1))); !errors.Is(err, ErrCommand) {
		t.Errorf("too long a history: %v", err)
	}
}

func orderEnd(id JobID, reason scorev1.EndReason) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_OrderEnd{OrderEnd: &statepb.OrderEnd{JobId: id, Verdict: &scorev1.Verdict{Reason: reason}}}}
}

func orderRequeue(id JobID) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_OrderRequeue{OrderRequeue: &statepb.OrderRequeue{JobId: id, Because: "it was requeued"}}}
}

// TestOrders: the later order counts. It survives a restart, and ends with the job or with its
// return to the queue.
func TestOrders(t *testing.T) {
	s := New()
	mustApply(t, s, node("n1", 4), submit(1, 1), submit(2, 1))
	for _, id := range []JobID{1, 2} {
		if err := s.Apply(entry(s.Nanos(), orderEnd(id, scorev1.EndReason_END_REASON_CANCELLED))); !errors.Is(err, ErrPhase) {
			t.Errorf("a job without places: %v", err)
		}
		mustApply(t, s, allocate(id, 0, place("n1", []uint32{0}, []uint32{uint32(id)})))
	}
	if err := s.Apply(
		entry(s.Nanos(), &statepb.Command{Command: &statepb.Command_OrderEnd{OrderEnd: &statepb.OrderEnd{JobId: 1}}}),
	); !errors.Is(
		err,
		ErrCommand,
	) {
		t.Errorf("no verdict: %v", err)
	}
	ordered := func(id JobID, ending scorev1.EndReason, because string) {
		t.Helper()
		restored, err := Restore(image(t, s))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*State{s, restored} {
			if j := s.Job(id); j.Ending.GetReason() != ending || j.Ordered != because {
				t.Errorf("job %d: %v, %q", id, j.Ending, j.Ordered)
			}
		}
	}
	const none, cancelled = scorev1.EndReason_END_REASON_UNSPECIFIED, scorev1.EndReason_END_REASON_CANCELLED
	mustApply(t, s, orderRequeue(1), orderEnd(2, cancelled))
	ordered(1, none, "it was requeued")
	ordered(2, cancelled, "")
	mustApply(t, s, orderEnd(1, cancelled), orderRequeue(2))
	ordered(1, cancelled, "")
	ordered(2, none, "it was requeued")
	mustApply(t, s, end(1), orderEnd(2, cancelled), requeue(2))
	ordered(1, none, "")
	ordered(2, none, "")
}

// TestNeeds: new commands need their protocol. A program that does not understand it ends, whatever
// protocol the log named before.
func TestNeeds(t *testing.T) {
	recovering, excluding, because := submit(1, 1), submit(1, 1), requeue(1)
	recovering.GetSubmit().Spec.Recover = true
	excluding.GetSubmit().Spec.ExcludeList = []string{"n1"}
	because.GetRequeue().Because = "n1 was lost"
	spawned := submit(1, 1)
	spawned.GetSubmit().SpawnedBy = &statepb.NameRequest{JobId: 1}
	hold, depends, met := submit(1, 1), submit(1, 1), end(1)
	hold.GetSubmit().Spec.Hold = true
	depends.GetSubmit().Spec.Dependencies = []*scorev1.Dependency{{JobIds: []uint64{1}}}
	met.GetEnd().Met = []uint64{2}
	for want, commands := range map[uint32][]*statepb.Command{
		protocol.First: {nil, {}, submit(1, 1), requeue(1), end(1), history(0)},
		2: {
			keyed(1, "k"), recovering, excluding, spawned, because, orderRequeue(1), orderEnd(1, scorev1.EndReason_END_REASON_CANCELLED), history(5), raise(2),
			hold, depends, met, held(1, "ada"), held(1, ""),
		},
		9: {raise(9)},
	} {
		for _, c := range commands {
			if got := Needs(c); got != want {
				t.Errorf("%v needs protocol %d, want %d", c, got, want)
			}
		}
	}
	if err := understood(protocol.Own().Newest + 1); !errors.Is(err, ErrProtocol) {
		t.Error(err)
	}
}

// TestKeysOfTheEarlierProtocol: a submission from before the log could keep keys is not taken for
// new.
func TestKeysOfTheEarlierProtocol(t *testing.T) {
	s := New()
	mustApply(t, s, submit(1, 1))
	mustApply(t, s, raise(protocol.Keys))
	if s.KeysBefore() != s.Nanos() {
		t.Errorf("those before %d are forgotten, and it is %d", s.KeysBefore(), s.Nanos())
	}
	fresh := New()
	mustApply(t, fresh, raise(protocol.Keys))
	if fresh.KeysBefore() != 0 {
		t.Error("nothing was submitted before")
	}
}
