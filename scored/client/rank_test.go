package client

import (
	"score/scored/api/scorev1"
	"testing"
)

func TestRankWords(t *testing.T) {
	for want, rank := range map[string]*scorev1.RankState{
		"running":             {State: "running"},
		"exited with code 0":  {State: "exited"},
		"exited with code 3":  {State: "exited", ExitCode: 3},
		"killed by signal 11": {State: "exited", Signal: 11},
	} {
		if got := RankWords(rank); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
