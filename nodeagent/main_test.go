package nodeagent_test

import (
	"os"
	"score/nodeagent/steward"
	"testing"
)

// TestMain lets the test binary be a steward, as scored and scrun are, the ranks
// of the jobs that the tests run, and an agent that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "steward":
			os.Exit(steward.Main(os.Args[2:]))
		case "spin":
			os.Exit(spin(os.Args[2:]))
		case "pmi":
			os.Exit(speakPMI(os.Args[2:]))
		case "agent":
			os.Exit(runAgent(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}
