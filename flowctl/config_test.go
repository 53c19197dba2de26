package flowctl

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string // part of the error; "" = valid
	}{
		{"defaults", func(*Config) {}, ""},
		{"no policy", func(c *Config) { c.Policy = nil }, "no policy"},
		{"no window", func(c *Config) { c.MinWindow = 0 }, "smallest window"},
		{"first window too small", func(c *Config) { c.InitialWindow = 1 }, "first window is 1"},
		{"first window too large", func(c *Config) { c.InitialWindow = 300 }, "first window is 300"},
		{"window beyond the numbers", func(c *Config) { c.MaxWindow = MaxWindow + 1 }, "largest window"},
		{"never acknowledged", func(c *Config) { c.AckEvery = 0 }, "frames per acknowledgement"},
		{"retry waits crossed", func(c *Config) { c.RTOMax = c.RTOFloor - 1 }, "longest retry wait"},
		{"probe waits crossed", func(c *Config) { c.ProbeMax = c.Probe - 1 }, "longest probe wait"},
		{"no delay", func(c *Config) { c.AckDelay = 0 }, "acknowledgement delay"},
		{"no first wait", func(c *Config) { c.FirstRTO = -1 }, "first retry wait"},
		{"no floor", func(c *Config) { c.RTOFloor = 0 }, "shortest retry wait"},
		{"no probe", func(c *Config) { c.Probe = 0 }, "probe wait"},
		{"no resend", func(c *Config) { c.ReadyResend = 0 }, "ready wait"},
		{"endless silence", func(c *Config) { c.FailAfter = 2 * time.Hour }, "silence bound"},
	} {
		c := DefaultConfig()
		tt.change(&c)
		err := c.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error is %v, want one that says %q", tt.name, err, tt.want)
		}
	}
	if err := (Credits{}).Check(); !errors.Is(err, ErrConfig) {
		t.Errorf("credits that begin with none: error is %v", err)
	}
	if err := (Credits{Initial: 1}).Check(); err != nil {
		t.Error(err)
	}
}

func TestBackoff(t *testing.T) {
	for _, tt := range []struct {
		wait, longest int64
		tries         uint8
		want          int64
	}{
		{100, 1000, 0, 100},
		{100, 1000, 3, 800},
		{100, 1000, 4, 1000},
		{100, 1000, 255, 1000},
		{int64(time.Hour), NoDeadline, 255, int64(time.Hour) << maxShift},
	} {
		if got := backoff(tt.wait, tt.longest, tt.tries); got != tt.want {
			t.Errorf("backoff(%d, %d, %d) = %d, want %d", tt.wait, tt.longest, tt.tries, got, tt.want)
		}
	}
}

func TestSerialNumbers(t *testing.T) {
	for _, tt := range []struct {
		a, b Seq
		want bool
	}{
		{1, 0, true},
		{0, 1, false},
		{5, 5, false},
		{0, 1<<32 - 1, true},
		{1<<32 - 1, 0, false},
		{1 << 30, 1<<32 - 1, true},
		{1<<31 - 1, 0, true},
	} {
		if got := after(tt.a, tt.b); got != tt.want {
			t.Errorf("after(%d, %d) = %v", tt.a, tt.b, got)
		}
	}
	if got := pulled(7, 7+maxLag); got != 7 {
		t.Errorf("a mark within the lag moved to %d", got)
	}
	if got := pulled(7, 8+maxLag); got != 8 {
		t.Errorf("a mark behind the lag is at %d, want 8", got)
	}
}
