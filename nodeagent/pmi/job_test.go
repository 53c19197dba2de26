package pmi

import (
	"errors"
	"strings"
	"testing"
)

func TestJobInfoIsChecked(t *testing.T) {
	good := JobInfo{KVSName: "kvs", RankNode: []int32{0, 1}}
	for name, spoil := range map[string]func(j *JobInfo){
		"no ranks":        func(j *JobInfo) { j.RankNode = nil },
		"too many ranks":  func(j *JobInfo) { j.RankNode = make([]int32, MaxRanks+1) },
		"negative node":   func(j *JobInfo) { j.RankNode = []int32{0, -1} },
		"unused node":     func(j *JobInfo) { j.RankNode = []int32{0, 2, 2} },
		"huge node":       func(j *JobInfo) { j.RankNode = []int32{0, 1 << 30} },
		"not this node":   func(j *JobInfo) { j.NodeIndex = 2 },
		"negative index":  func(j *JobInfo) { j.NodeIndex = -1 },
		"no name":         func(j *JobInfo) { j.KVSName = "" },
		"blank in name":   func(j *JobInfo) { j.KVSName = "a b" },
		"semicolon":       func(j *JobInfo) { j.KVSName = "a;b" },
		"path in name":    func(j *JobInfo) { j.KVSName = "../b" },
		"long name":       func(j *JobInfo) { j.KVSName = strings.Repeat("k", MaxKVSName) },
		"bad spawner":     func(j *JobInfo) { j.SpawnerJob = "a\nb" },
		"few commands":    func(j *JobInfo) { j.RankApp = []int32{0} },
		"universe":        func(j *JobInfo) { j.UniverseSize = -2 },
		"empty given key": func(j *JobInfo) { j.Preput = map[string]string{"": "v"} },
		"long given key":  func(j *JobInfo) { j.Preput = map[string]string{strings.Repeat("k", MaxKey+1): "v"} },
		"long given":      func(j *JobInfo) { j.Preput = map[string]string{"k": strings.Repeat("v", MaxValue+1)} },
	} {
		info := good
		spoil(&info)
		if _, err := NewEngine(info); !errors.Is(err, ErrJobInfo) {
			t.Errorf("%s: got %v, want %v", name, err, ErrJobInfo)
		}
	}
	if _, err := NewEngine(good); err != nil {
		t.Errorf("a good description: %v", err)
	}
}

func TestWhatRanksAreTold(t *testing.T) {
	e, err := NewEngine(JobInfo{
		KVSName: "kvs", RankNode: []int32{0, 1, 1}, NodeIndex: 1, RankApp: []int32{0, 0, 1},
		Preput: map[string]string{"PARENT": "there"}, SpawnerJob: "parent",
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.Size() != 3 || e.nodes != 2 || e.UniverseSize() != 3 || e.KVSName() != "kvs" || e.Spawner() != "parent" {
		t.Error("size, nodes, universe or names are wrong")
	}
	if e.AppNum(1) != 0 || e.AppNum(2) != 1 {
		t.Error("a wrong command index")
	}
	if value, ok := e.Get(1, AnyRank, []byte("PARENT")); !ok || value != "there" {
		t.Errorf("the given key is %q, %v", value, ok)
	}
	if _, ok := e.Slot(0); ok {
		t.Error("rank 0 is not here")
	}
	if slot, ok := e.Slot(2); !ok || slot != 1 {
		t.Errorf("rank 2 is at %d, %v", slot, ok)
	}
	defer func() {
		if recover() == nil {
			t.Error("the engine serves a rank of another node")
		}
	}()
	e.Phase(0)
}
