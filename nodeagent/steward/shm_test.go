package steward

import (
	"errors"
	"score/nodeagent/launch"
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

// A job that names something in the host's /dev/shm, which it would not see, is told so before it
// starts.
func TestNothingOfTheHostsShm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*scorev1.JobSpec)
		want   error // nil: it may start
		path   string
	}{
		{"nothing there", func(*scorev1.JobSpec) {}, nil, ""},
		{"directory", func(s *scorev1.JobSpec) { s.WorkDir = "/dev/shm/x" }, launch.ErrDir, "/dev/shm/x"},
		{"/dev/shm itself", func(s *scorev1.JobSpec) { s.WorkDir = "/dev/shm" }, launch.ErrDir, "/dev/shm"},
		{"program", func(s *scorev1.JobSpec) { s.Argv[0] = "/dev/shm/a.out" }, launch.ErrNotFound, "/dev/shm/a.out"},
		{"input", func(s *scorev1.JobSpec) { s.StdinPattern = "/dev/shm/in" }, errFiles, "/dev/shm/in"},
		{"output", func(s *scorev1.JobSpec) { s.Detached, s.StdoutPattern = true, "/dev/shm/out.%t" }, errFiles, "/dev/shm/out.%t"},
		{"errors", func(s *scorev1.JobSpec) { s.Detached, s.StderrPattern = true, "../dev/shm/err" }, errFiles, "/dev/shm/err"},
		{"output that scrun writes", func(s *scorev1.JobSpec) { s.StdoutPattern = "/dev/shm/out" }, nil, ""},
		{"the directory of one command", func(s *scorev1.JobSpec) {
			s.Commands = []*scorev1.Command{{Argv: []string{"a"}, Tasks: 1}, {Argv: []string{"b"}, Tasks: 2, WorkDir: "/dev/shm"}}
		}, launch.ErrDir, "/dev/shm"},
		{"that of a command on another node", func(s *scorev1.JobSpec) {
			s.Commands = []*scorev1.Command{
				{Argv: []string{"a"}, Tasks: 1},
				{Argv: []string{"b"}, Tasks: 1, WorkDir: "/dev/shm"},
				{Argv: []string{"c"}, Tasks: 1},
			}
		}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := order()
			o.Job.Spec.WorkDir = "/home"
			tt.change(o.Job.Spec)
			err := newJob(o).checkHidden()
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.path+": each job has a /dev/shm of its own") {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}
