package leader

import (
	"errors"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

func TestChildSpec(t *testing.T) {
	parent := &job{spec: &scorev1.JobSpec{
		Name: "p", Argv: []string{"p"}, Env: []string{"A=1", "B=2"}, WorkDir: "/w", SearchPath: "/old", Tasks: 9, Nodes: 3, Label: true, TimeLimitNanos: 5,
		ExcludeList: []string{"n9"},
	}}
	parent.listed = listedSpec(parent.spec)
	one := &agentpb.SpawnApp{Program: "a", Args: []string{"x"}, Tasks: 2, Env: []string{"B=3"}, WorkDir: "/tmp", Path: "/bin", Hosts: []string{"n1"}}
	other := &agentpb.SpawnApp{Program: "./b", Tasks: 3, Path: "/bin", Hosts: []string{"n1", "n2"}}
	child := func(change func(*scorev1.JobSpec)) *scorev1.JobSpec {
		spec := &scorev1.JobSpec{
			Name: "a", Argv: []string{"a", "x"}, Env: []string{"A=1", "B=3"}, WorkDir: "/tmp", SearchPath: "/bin", Tasks: 2,
			NodeList: []string{"n1"}, CpusPerTask: 1, Oversubscribe: true, Stdin: scorev1.StdinMode_STDIN_MODE_NONE, Label: true,
			ExcludeList: []string{"n9"},
		}
		change(spec)
		return spec
	}
	for name, test := range map[string]struct {
		apps []*agentpb.SpawnApp
		want *scorev1.JobSpec
	}{
		"one": {[]*agentpb.SpawnApp{one}, child(func(*scorev1.JobSpec) {})},
		"two": {[]*agentpb.SpawnApp{one, other}, child(func(s *scorev1.JobSpec) {
			s.Env, s.WorkDir, s.SearchPath, s.Tasks, s.NodeList = parent.spec.Env, "/w", "", 5, []string{"n1", "n2"}
			s.Commands = []*scorev1.Command{
				{Tasks: 2, Argv: []string{"a", "x"}, Env: []string{"B=3"}, WorkDir: "/tmp", SearchPath: "/bin"},
				{Tasks: 3, Argv: []string{"./b"}, SearchPath: "/bin"},
			}
		})},
		"none":       {nil, nil},
		"no program": {[]*agentpb.SpawnApp{one, {Tasks: 1}}, nil},
		"no process": {[]*agentpb.SpawnApp{{Program: "a"}}, nil},
		"too many":   {[]*agentpb.SpawnApp{one, {Program: "a", Tasks: 1<<32 - 1}}, nil},
	} {
		got, _, err := childSpec(parent, test.apps)
		if (test.want == nil) != errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" && test.want != nil {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUniverseSize: MPI programs that read the value before they spawn find room, even if they fill
// the cluster.
func TestUniverseSize(t *testing.T) {
	b := &controller{nodes: map[string]*node{"n1": {cpus: 2}, "n2": {cpus: 6}}}
	for tasks, want := range map[uint32]uint32{1: 8, 7: 8, 8: 16, 20: 28} {
		if got := b.universe(&job{spec: &scorev1.JobSpec{Tasks: tasks}}); got != want {
			t.Errorf("%d ranks on 8 CPUs: a universe of %d, want %d", tasks, got, want)
		}
	}
}
