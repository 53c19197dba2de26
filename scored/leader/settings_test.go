package leader

import (
	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Each setting can be changed, and set back to its default, and leaves the others as they are.
func TestEachSettingChangesAlone(t *testing.T) {
	log := state.New()
	c := newController(configOf(1, log), log, 1)
	c.protocol = protocol.Own().Newest
	before := c.settings
	var other scorev1.Settings
	value := other.ProtoReflect()
	for i, name := range settingNames() {
		field := settingFields().Get(i)
		switch field.Kind() {
		case protoreflect.Int64Kind:
			value.Set(field, protoreflect.ValueOfInt64(int64(4711+i)))
		case protoreflect.Uint64Kind:
			value.Set(field, protoreflect.ValueOfUint64(uint64(4711+i)))
		default:
			value.Set(field, protoreflect.ValueOfUint32(uint32(4711+i)))
		}
		want := proto.Clone(before).(*scorev1.Settings)
		want.ProtoReflect().Set(field, value.Get(field))
		if got, err := c.changedSettings(&other, []string{name}); err != nil || !proto.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
		want.ProtoReflect().Clear(field)
		if got, err := c.changedSettings(nil, []string{name}); err != nil || !proto.Equal(got, want) {
			t.Errorf("%s to its default: %v, %v, want %v", name, got, err, want)
		}
	}
}

// TestPolicyReachesTheMachine: settings take effect in placement.
func TestPolicyReachesTheMachine(t *testing.T) {
	got := gangConfig(&scorev1.Settings{SliceNanos: 2e6, MaxRows: 3, AgePerPointNanos: 5e9, WeightStep: 7})
	if want := (gang.Config{Slice: 2 * time.Millisecond, MaxRows: 3, AgePerPoint: 5 * time.Second, WeightStep: 7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSettings(t *testing.T) {
	tests := []struct {
		name   string
		fields []string
		from   *scorev1.Settings
		want   string // of the error
	}{
		{"slice", []string{"slice_nanos"}, &scorev1.Settings{SliceNanos: 20e6}, ""},
		{"all", settingNames(), &scorev1.Settings{SliceNanos: 20e6, MaxRows: 2, DefaultMemoryPerCpuBytes: 1 << 20}, ""},
		{"none", nil, nil, "name the settings"},
		{"unknown", []string{"colour"}, nil, `there is no setting "colour"`},
		{"slice too short", []string{"slice_nanos"}, &scorev1.Settings{SliceNanos: 1}, "is not between 1ms"},
		{"too many rows", []string{"max_rows"}, &scorev1.Settings{MaxRows: 1000}, "1000 rows"},
		{"no rows", []string{"max_rows"}, nil, "0 rows"},
		{"age", []string{"age_per_point_nanos"}, &scorev1.Settings{AgePerPointNanos: 1e9}, ""},
		{"too little age", []string{"age_per_point_nanos"}, &scorev1.Settings{AgePerPointNanos: 1}, "are not between 100ms"},
		{"step", []string{"weight_step"}, &scorev1.Settings{WeightStep: 10}, ""},
		{"too large a step", []string{"weight_step"}, &scorev1.Settings{WeightStep: 1 << 30}, "more than the most"},
		{"history", []string{"history"}, &scorev1.Settings{History: 5000}, ""},
		{"too long a history", []string{"history"}, &scorev1.Settings{History: 1 << 30}, "is longer than the most"},
		{"too much memory", []string{"default_memory_per_cpu_bytes"}, &scorev1.Settings{DefaultMemoryPerCpuBytes: 1 << 62}, "more than the most"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
				if err := l.Raise(t.Context(), protocol.History); err != nil {
					t.Fatal(err)
				}
				settings, err := l.SetSettings(t.Context(), test.from, test.fields)
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Fatalf("error %v", err)
				}
				now, _ := l.Settings(t.Context())
				var committed *scorev1.Settings
				r.Read(func(s *state.State) { committed = s.Settings() })
				if now.GetSliceNanos() != committed.GetSliceNanos() || now.GetMaxRows() != committed.GetMaxRows() {
					t.Errorf("settings %v, committed %v", now, committed)
				}
				if err == nil && settings.GetSliceNanos() != now.GetSliceNanos() {
					t.Errorf("answered %v, are %v", settings, now)
				}
			})
		})
	}
}

func TestDefaultMemory(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1") // 1 GiB, two CPUs
		settings := &scorev1.Settings{DefaultMemoryPerCpuBytes: 256 << 20}
		if _, err := l.SetSettings(t.Context(), settings, []string{"default_memory_per_cpu_bytes"}); err != nil {
			t.Fatal(err)
		}
		mustSubmit(t, l, jobSpec(2))
		for {
			m := <-link.messages
			if p := m.GetPrepare(); p != nil {
				if p.GetMemoryLimitBytes() != 512<<20 || p.GetUniverseSize() != 4 {
					t.Errorf("Prepare %v", p)
				}
				break
			}
		}
		list, _ := l.Nodes(t.Context())
		nodes := list.GetNodes()
		if nodes[0].GetMemoryUsedBytes() != 512<<20 {
			t.Errorf("node %v", nodes[0])
		}
	})
}
