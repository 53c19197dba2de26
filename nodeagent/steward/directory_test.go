package steward_test

import (
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"testing"
)

// A job that brings its files runs in its own directory on a node that lacks the directory where it
// was submitted; another job cannot start there.
func TestAJobThatBringsItsFilesRunsAnywhere(t *testing.T) {
	own, there := t.TempDir(), t.TempDir()
	for _, tt := range []struct {
		name   string
		dir    string
		staged bool
		code   int32
		runsIn string
	}{
		{"no such directory", there + "/gone", true, 0, own},
		{"a file", "/bin/true", true, 0, own},
		{"the directory exists", there, true, 0, there},
		{"the job brings no files", there + "/gone", false, 126, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := start(t)
			a.do(a.conn.Prepare(a.order(1, sh("pwd"), withSpec(func(s *scorev1.JobSpec) {
				s.WorkDir, s.AnyDirectory, s.Env = tt.dir, true, append(s.Env, "SCORE_JOB_DIR="+own)
				s.Detached, s.StdoutPattern = true, "out"
				if tt.staged {
					s.Staged = []*scorev1.StagedFile{{Name: "data", Kind: scorev1.StagedKind_STAGED_KIND_FILE}}
				}
			}))))
			if p := a.prepared(); p.GetExitCode() != tt.code {
				t.Fatal(p)
			}
			a.do(a.conn.Launch())
			if tt.code == 0 {
				a.done()
				if got, err := os.ReadFile(filepath.Join(tt.runsIn, "out")); err != nil || string(got) != tt.runsIn+"\n" {
					t.Errorf("it ran in %q: %v", got, err)
				}
			}
			a.do(a.conn.Forget())
			a.left()
		})
	}
}
