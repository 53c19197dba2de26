package pmi1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"score/nodeagent/pmi"
)

// play feeds the lines of blocks, each begun by mcmd=spawn.
func play(s *Spawn, text string) (*pmi.SpawnRequest, error) {
	for line := range strings.SplitSeq(text, "\n") {
		if line == "mcmd=spawn" {
			s.Begin()
			continue
		}
		if request, err := s.Line([]byte(line)); request != nil || err != nil {
			return request, err
		}
	}
	return nil, nil
}

func TestSpawn(t *testing.T) {
	var s Spawn
	if s.Started() || s.Inside() {
		t.Error("a spawn has begun by itself")
	}
	first := "mcmd=spawn\nnprocs=2\nexecname=a b\ntotspawns=2\nspawnssofar=1\narg1=x=1 y\nargcnt=1\npreput_num=1\n" +
		"preput_key_0=K\npreput_val_0=v w=\ninfo_num=2\ninfo_key_0=wdir\ninfo_val_0=/tmp\ninfo_key_1=host\ninfo_val_1=\nendcmd"
	if request, err := play(&s, first); request != nil || err != nil || !s.Started() || s.Inside() {
		t.Fatalf("after block 1 of 2: %v, %v", request, err)
	}
	request, err := play(&s, "mcmd=spawn\nnprocs=1\nexecname=c\ntotspawns=2\nspawnssofar=2\nendcmd")
	if err != nil {
		t.Fatal(err)
	}
	want := &pmi.SpawnRequest{
		Apps: []pmi.SpawnApp{
			{Command: "a b", Args: []string{"x=1 y"}, MaxProcs: 2, Info: []pmi.KV{{Key: "wdir", Value: "/tmp"}, {Key: "host"}}},
			{Command: "c", MaxProcs: 1},
		},
		Preput: map[string]string{"K": "v w="},
	}
	if diff := cmp.Diff(want, request); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if s.Started() {
		t.Error("the collector is not ready for the next request")
	}
}

func FuzzSpawn(f *testing.F) {
	f.Add("mcmd=spawn\nnprocs=2\nexecname=a\ntotspawns=1\nspawnssofar=1\narg1=x\nargcnt=1\nendcmd")
	f.Add("mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\npreput_num=1\npreput_key_0=k\npreput_val_0=v\nendcmd")
	f.Fuzz(func(t *testing.T, text string) {
		var s Spawn
		s.Begin()
		request, err := play(&s, text)
		if err != nil || request == nil {
			return
		}
		for _, app := range request.Apps {
			if app.Command == "" || app.MaxProcs < 1 || len(app.Args) > len(text) {
				t.Errorf("%q gives %+v", text, app)
			}
		}
	})
}
