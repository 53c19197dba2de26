package pm_test

import (
	"errors"
	"os"
	"score/pm"
	"strings"
	"testing"
	"time"
)

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        pm.Settings
		ok          bool
	}{
		{pm.EnvImmediate, "", pm.DefaultSettings(), true},
		{pm.EnvImmediate, "0", pm.Settings{Overlap: true, Spin: -1}, true},
		{pm.EnvOverlap, "0", pm.Settings{Immediate: true, Spin: -1}, true},
		{pm.EnvOverlap, "1", pm.DefaultSettings(), true},
		{pm.EnvSpin, "3us", pm.Settings{Immediate: true, Overlap: true, Spin: 3 * time.Microsecond}, true},
		{pm.EnvSpin, "0", pm.Settings{Immediate: true, Overlap: true}, true},
		{pm.EnvFlow, "nack", pm.DefaultSettings(), true},
		{pm.EnvFlow, "credits", withCredits(), true},
		{pm.EnvFlow, "credit", pm.Settings{}, false},
		{pm.EnvLaneBytes, "1000000", pm.Settings{Immediate: true, Overlap: true, Spin: -1, LaneBytes: 1000000}, true},
		{pm.EnvLaneBytes, "0", pm.Settings{Immediate: true, Overlap: true, Spin: -1, LaneBytes: -1}, true},
		{pm.EnvLaneBytes, "-5", pm.Settings{}, false},
		{pm.EnvLaneBytes, "4M", pm.Settings{}, false},
		{pm.EnvImmediate, "maybe", pm.Settings{}, false},
		{pm.EnvSpin, "-1s", pm.Settings{}, false},
		{pm.EnvSpin, "3", pm.Settings{}, false},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			got, err := pm.SettingsFromEnvironment()
			if !c.ok {
				if !errors.Is(err, pm.ErrEnvironment) || !strings.Contains(err.Error(), c.name) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestJoinRefuses(t *testing.T) {
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pm.Join(plain, pm.DefaultSettings()); !errors.Is(err, pm.ErrEnvironment) {
		t.Error(err)
	}
	if _, err := pm.Open(1); !errors.Is(err, pm.ErrEnvironment) || !strings.Contains(err.Error(), pm.EnvSocket) {
		t.Error(err)
	}
}
