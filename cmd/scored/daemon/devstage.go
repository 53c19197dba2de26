package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"score/cmd/scored/rundir"
	"score/nodeagent/jobdirs"
)

const (
	// devStages is where clusters of root keep staged files. Other users cannot enter root's own
	// directories, and programs in /tmp may not be executable.
	devStages = "/var/cache/score-dev"
	// throughMode lets everybody pass through a directory, but not list it.
	throughMode = 0o711
)

// openDevStage makes the directory for staged files and the jobs' directories. If root runs the
// cluster, it is where other users can reach it.
func openDevStage(own *rundir.Dir, root bool) (*rundir.Dir, error) {
	if !root {
		return own.Within("stage")
	}
	return makeStage(devStages)
}

// makeStage makes a directory below parent. The last cluster removes parent.
func makeStage(parent string) (*rundir.Dir, error) {
	for {
		err := os.MkdirAll(filepath.Dir(parent), throughMode)
		if err == nil {
			err = os.Mkdir(parent, throughMode)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("cannot make a directory for files that go along with jobs: %w", err)
		}
		stage, err := rundir.Make(parent, "stage", func(name string) { sweepStage(filepath.Join(parent, name)) })
		if errors.Is(err, fs.ErrNotExist) {
			continue // the cluster that was the last has just removed the parent
		}
		if err != nil {
			return nil, err
		}
		return stage, os.Chmod(stage.Path(), throughMode)
	}
}

// closeDevStage removes the directory, and root's parent if no other cluster uses it.
func closeDevStage(stage *rundir.Dir, root bool) error {
	sweepStage(stage.Path()) // what killed agents have left
	err := stage.Close()
	if root {
		err = errors.Join(err, rundir.RemoveParent(filepath.Dir(stage.Path())))
	}
	return err
}

// sweepStage removes what jobs have left, with the permissions of their users.
func sweepStage(path string) {
	places, _ := filepath.Glob(filepath.Join(path, "*"+jobsMark+"*")) // the pattern is valid
	for _, place := range places {
		jobdirs.Sweep(place)
	}
}
