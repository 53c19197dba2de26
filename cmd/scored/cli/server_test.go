package cli

import (
	"score/scored/api/scorev1"
	"testing"
	"time"
)

// What is wrong with a server is said, all of it, and nothing else.
func TestServerHealth(t *testing.T) {
	good := func() *scorev1.Disk {
		return &scorev1.Disk{SlowestWriteNanos: 12e6, FreeBytes: 50 << 30, SizeBytes: 100 << 30}
	}
	full := &scorev1.Disk{SlowestWriteNanos: 3e9, FreeBytes: 80 << 20, SizeBytes: 100 << 30}
	for _, test := range []struct {
		server *scorev1.Server
		want   string
	}{
		{&scorev1.Server{Voter: true, Leader: true, Disk: good()}, "healthy"},
		{&scorev1.Server{Voter: true, RoundTripNanos: 99e6, BehindEntries: 999, Disk: good()}, "healthy"},
		{&scorev1.Server{Voter: true, SilentNanos: (12 * time.Second).Nanoseconds(), BehindEntries: 7e6}, "unreachable for 12s"},
		{&scorev1.Server{Voter: true, SilentNanos: 1}, "unreachable for 0s"},
		{&scorev1.Server{Voter: true}, "no answer about its disk"},
		{&scorev1.Server{Voter: true, Disk: &scorev1.Disk{}}, "healthy"}, // in memory
		{&scorev1.Server{BehindEntries: 3, Disk: good()}, "behind 3"},
		{&scorev1.Server{Disk: good()}, "healthy"},
		{&scorev1.Server{Voter: true, RoundTripNanos: 150e6, BehindEntries: 1200, Disk: full}, "slow, answers take 150ms; behind 1200; disk nearly full, 80M free"},
		{&scorev1.Server{Voter: true, Disk: &scorev1.Disk{SlowestWriteNanos: 1240e6, FreeBytes: 1 << 30, SizeBytes: 100 << 30}}, "disk slow, 1.2s"},
		{&scorev1.Server{Voter: true, Disk: &scorev1.Disk{FreeBytes: 1 << 20, SizeBytes: 2 << 20}}, "healthy"}, // a small disk, half full
	} {
		if got := serverHealth(test.server); got != test.want {
			t.Errorf("%v: %q, want %q", test.server, got, test.want)
		}
	}
}
