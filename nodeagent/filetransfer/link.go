package filetransfer

import (
	"errors"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"score/scored/api/agentpb"
	"score/scored/api/environ"
	"score/scored/api/scorev1"
)

const (
	// stageDirName is the directory with a job's files below the job's directory, and
	// stageLibraries the directory with libraries below that.
	stageDirName, stageLibraries = "stage", "lib"
	// libraryVariable names the directories that the dynamic loader searches first.
	libraryVariable = "LD_LIBRARY_PATH"
)

// Link makes links to the job's files in the job's directory, as the job's user, and sets the
// environment by which the ranks find them. programs is the directory of programs, "" if none was
// sent along.
func (t *Transfers) Link(order *agentpb.Prepare, dir string) (programs string, err error) {
	spec := order.GetSpec()
	if len(spec.GetStaged()) == 0 {
		return "", nil
	}
	stage := filepath.Join(dir, stageDirName)
	libraries := false
	err = launch.AsUser(userOf(order.GetUser()), func() error {
		if err := errors.Join(os.Mkdir(stage, 0o700), os.Mkdir(filepath.Join(stage, stageLibraries), 0o700)); err != nil {
			return err
		}
		for _, f := range spec.GetStaged() {
			file, err := stagedFile(f)
			if err != nil {
				return err
			}
			name := filepath.Join(stage, f.GetName())
			switch f.GetKind() {
			case scorev1.StagedKind_STAGED_KIND_PROGRAM:
				programs = stage
			case scorev1.StagedKind_STAGED_KIND_LIBRARY:
				name, libraries = filepath.Join(stage, stageLibraries, f.GetName()), true
			case scorev1.StagedKind_STAGED_KIND_FILE, scorev1.StagedKind_STAGED_KIND_UNSPECIFIED:
			}
			if err := os.Symlink(t.options.Cache.Path(User(order.GetUser()), file), name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if libraries {
		spec.Env = prepend(spec.GetEnv(), libraryVariable, filepath.Join(stage, stageLibraries))
	}
	return programs, nil
}

// prepend adds a directory to the front of a variable's list.
func prepend(env []string, name, dir string) []string {
	if list := environ.Value(env, name); list != "" {
		dir += ":" + list
	}
	return environ.Override(env, []string{name + "=" + dir})
}
