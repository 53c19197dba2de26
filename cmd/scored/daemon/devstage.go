package daemon

import (
	"fmt"
	"os"

	"score/cmd/scored/rundir"
)

const (
	// devStages is where clusters of root's keep the files that go along with jobs: those of other
	// users come through no directory of root's own, and programs in /tmp may not be executable.
	devStages = "/var/cache/score-dev"
	// throughMode lets everybody come through a directory, and list nothing in it.
	throughMode = 0o711
)

// openDevStage makes the directory for the files that go along with jobs, where the users of these
// jobs reach them: other users can be here only if root runs the cluster.
func openDevStage(own *rundir.Dir) (*rundir.Dir, error) {
	if os.Geteuid() != 0 {
		return rundir.Make(own.Path(), "stage", nil)
	}
	if err := os.MkdirAll(devStages, throughMode); err != nil {
		return nil, fmt.Errorf("cannot make a directory for files that go along with jobs: %w", err)
	}
	stage, err := rundir.Make(devStages, "stage", nil)
	if err != nil {
		return nil, err
	}
	return stage, os.Chmod(stage.Path(), throughMode)
}
