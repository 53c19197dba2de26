package steward

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWithHardware(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hardware.xml")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ours := []string{"HWLOC_XMLFILE=" + file, "HWLOC_THISSYSTEM=1", "HWLOC_THISSYSTEM_ALLOWED_RESOURCES=1"}
	for name, test := range map[string]struct {
		hwloc bool
		path  string
		env   []string
		want  bool
	}{
		"an MPI program":          {true, file, []string{"A=1"}, true},
		"another program":         {false, file, []string{"A=1"}, false},
		"no description":          {true, "", []string{"A=1"}, false},
		"it cannot be read":       {true, file + ".no", []string{"A=1"}, false},
		"the user's choice":       {true, file, []string{"HWLOC_SYNTHETIC=pack:2"}, false},
		"no variable at all":      {true, file, nil, true},
		"the user's own file":     {true, file, []string{"HWLOC_XMLFILE=/mine.xml"}, false},
		"a name that only begins": {true, file, []string{"HWLOCAL=1"}, true},
	} {
		j := &job{hwloc: test.hwloc, hardware: readable(test.path)}
		want := slices.Clone(test.env)
		if test.want {
			want = append(want, ours...)
		}
		if got := j.withHardware(slices.Clone(test.env)); !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWithoutHardware(t *testing.T) {
	mine := []string{"A=1", "HWLOC_XMLFILE=/mine.xml", "HWLOC_THISSYSTEM=1"}
	if got := withoutHardware(slices.Clone(mine)); !slices.Equal(got, mine) {
		t.Errorf("the user's: %v", got)
	}
	nodes := []string{"A=1", "HWLOC_XMLFILE=/run/score/n1.jobs/score-hardware.xml", "B=2", "HWLOC_THISSYSTEM=1", "HWLOC_THISSYSTEM_ALLOWED_RESOURCES=1"}
	if got := withoutHardware(nodes); !slices.Equal(got, []string{"A=1", "B=2"}) {
		t.Errorf("a node's: %v", got)
	}
}
