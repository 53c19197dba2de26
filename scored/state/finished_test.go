package state

import (
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// A finished job's arguments take little memory, however long they were. Short ones stay as they
// are, and the job itself is run with all.
func TestArgumentsOfFinishedJobs(t *testing.T) {
	const mebibytes = 2 << 20
	long := slices.Repeat([]string{strings.Repeat("x", 64<<10)}, mebibytes>>16)
	for name, test := range map[string]struct {
		spec *scorev1.JobSpec
		want []string
	}{
		"short":             {&scorev1.JobSpec{Tasks: 1, Argv: []string{"echo", "a b", ""}}, []string{"echo", "a b", ""}},
		"many arguments":    {&scorev1.JobSpec{Tasks: 1, Argv: append([]string{"echo"}, long...)}, nil},
		"a long program":    {&scorev1.JobSpec{Tasks: 1, Argv: []string{"sh", "-c", strings.Repeat("echo; ", 20000)}}, nil},
		"empty arguments":   {&scorev1.JobSpec{Tasks: 1, Argv: append([]string{"echo"}, make([]string, 65000)...)}, nil},
		"a long path":       {&scorev1.JobSpec{Tasks: 1, Argv: []string{"echo"}, SearchPath: strings.Repeat("/x:", 1<<20)}, []string{"echo"}},
		"several commands":  {&scorev1.JobSpec{Tasks: 2, Commands: []*scorev1.Command{{Tasks: 1, Argv: long, Env: long}, {Tasks: 1, Argv: []string{"b"}}}}, nil},
		"thousands of them": {&scorev1.JobSpec{Tasks: 2, Commands: slices.Repeat([]*scorev1.Command{{Tasks: 1, Argv: []string{"b"}}}, 9000)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			c := submit(1, 1)
			c.GetSubmit().Spec = test.spec
			mustApply(t, s, c)
			if got := s.Job(1).Spec; !proto.Equal(got, test.spec) {
				t.Errorf("before its end %v", got)
			}
			mustApply(t, s, end(1))
			got := s.Job(1).Spec
			if size := proto.Size(got); size > 16<<10 {
				t.Errorf("%d bytes are kept", size)
			}
			if test.want != nil && !slices.Equal(got.GetArgv(), test.want) {
				t.Errorf("arguments %q, want %q", got.GetArgv(), test.want)
			}
			if full := test.spec.GetArgv(); test.want == nil && len(full) > 0 {
				n := len(got.GetArgv()) - 1
				if got.GetArgv()[0] != full[0] || !strings.HasSuffix(got.GetArgv()[n], " bytes)") {
					t.Errorf("%d arguments, from %q to %q", n+1, got.GetArgv()[0], got.GetArgv()[n])
				}
			}
		})
	}
}
