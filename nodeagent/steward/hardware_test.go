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
	parser := []string{"HWLOC_LIBXML_IMPORT=0"}
	description := []string{"HWLOC_XMLFILE=" + file, "HWLOC_THISSYSTEM=1", "HWLOC_THISSYSTEM_ALLOWED_RESOURCES=1"}
	all := slices.Concat(parser, description)
	pmi := offer{pmi: true}
	for name, test := range map[string]struct {
		offer offer
		hwloc bool
		path  string
		env   []string
		want  []string
	}{
		"an MPI program":          {pmi, true, file, []string{"A=1"}, all},
		"another program":         {pmi, false, file, []string{"A=1"}, parser},
		"no PMI":                  {offer{}, false, file, []string{"A=1"}, nil},
		"no description":          {pmi, true, "", []string{"A=1"}, parser},
		"it cannot be read":       {pmi, true, file + ".no", []string{"A=1"}, parser},
		"the user's choice":       {pmi, true, file, []string{"HWLOC_SYNTHETIC=pack:2"}, parser},
		"no variable at all":      {pmi, true, file, nil, all},
		"the user's own file":     {pmi, true, file, []string{"HWLOC_XMLFILE=/mine.xml"}, parser},
		"the user's parser":       {pmi, true, file, []string{"HWLOC_LIBXML=1"}, description},
		"of a job around this":    {pmi, true, file, parser, description},
		"a name that only begins": {pmi, true, file, []string{"HWLOCAL=1"}, all},
	} {
		j := &job{offer: test.offer, hwloc: test.hwloc, hardware: readable(test.path)}
		want := append(slices.Clone(test.env), test.want...)
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
