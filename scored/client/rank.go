package client

import (
	"fmt"
	"score/scored/api/scorev1"
)

// RankWords describes the state of a rank, or how it ended.
func RankWords(rank *scorev1.RankState) string {
	switch {
	case rank.GetSignal() != 0:
		return fmt.Sprintf("killed by signal %d", rank.GetSignal())
	case rank.GetState() == "exited":
		return fmt.Sprintf("exited with code %d", rank.GetExitCode())
	default:
		return rank.GetState()
	}
}
