package pmi1

import (
	"errors"
	"score/nodeagent/pmi"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// Bytes that are no letters come as they are.
func TestSpawnOfBytes(t *testing.T) {
	var s Spawn
	s.Begin()
	request, err := play(
		&s,
		"mcmd=spawn\nnprocs=1\nexecname=a\xff\ntotspawns=1\nspawnssofar=1\nargcnt=1\narg1=\xfe \x80\npreput_num=1\npreput_key_0=k\xff\npreput_val_0=\xfd\nendcmd",
	)
	want := &pmi.SpawnRequest{
		Apps: []pmi.SpawnApp{{Command: "a\xff", Args: []string{"\xfe \x80"}, MaxProcs: 1}}, Preput: map[string]string{"k\xff": "\xfd"},
	}
	if diff := cmp.Diff(want, request); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

func FuzzSpawn(f *testing.F) {
	f.Add("mcmd=spawn\nnprocs=2\nexecname=a\ntotspawns=1\nspawnssofar=1\narg1=x\nargcnt=1\nendcmd")
	f.Add("mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\npreput_num=1\npreput_key_0=k\npreput_val_0=v\nendcmd")
	f.Add("mcmd=spawn\nnprocs=1\nexecname=a\xff\ntotspawns=1\nspawnssofar=1\narg1=\xfe\nargcnt=1\ninfo_num=1\ninfo_key_0=wdir\ninfo_val_0=\x80\nendcmd")
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

func TestSpawnErrors(t *testing.T) {
	const head = "mcmd=spawn\nnprocs=1\nexecname=a\n"
	const tail = "totspawns=1\nspawnssofar=1\nendcmd"
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"no total":           {head + "spawnssofar=1\nendcmd", pmi.ErrMalformed},
		"no position":        {head + "totspawns=1\nendcmd", pmi.ErrMalformed},
		"total of words":     {head + "totspawns=one\nspawnssofar=1\nendcmd", pmi.ErrMalformed},
		"no total at all":    {head + "totspawns=0\nspawnssofar=1\nendcmd", pmi.ErrTooLong},
		"many commands":      {head + "totspawns=1025\nspawnssofar=1\nendcmd", pmi.ErrTooLong},
		"wrong position":     {head + "totspawns=3\nspawnssofar=3\nendcmd", pmi.ErrOrder},
		"no count":           {"mcmd=spawn\nexecname=a\n" + tail, pmi.ErrMalformed},
		"no processes":       {"mcmd=spawn\nnprocs=0\nexecname=a\n" + tail, pmi.ErrMalformed},
		"negative processes": {"mcmd=spawn\nnprocs=-4\nexecname=a\n" + tail, pmi.ErrMalformed},
		"no command":         {"mcmd=spawn\nnprocs=1\n" + tail, pmi.ErrMalformed},
		"missing argument":   {head + "argcnt=2\narg1=x\n" + tail, pmi.ErrMalformed},
		"negative arguments": {head + "argcnt=-1\n" + tail, pmi.ErrMalformed},
		"argcnt of words":    {head + "argcnt=x\n" + tail, pmi.ErrMalformed},
		"missing info key":   {head + "info_num=1\ninfo_val_0=x\n" + tail, pmi.ErrMalformed},
		"missing info value": {head + "info_num=1\ninfo_key_0=x\n" + tail, pmi.ErrMalformed},
		"missing given key":  {head + "preput_num=1\n" + tail, pmi.ErrMalformed},
		"lying info count":   {head + "info_num=1000000000\n" + tail, pmi.ErrMalformed},
		"no pair":            {head + "nonsense\n" + tail, pmi.ErrMalformed},
		"long line":          {head + "arg1=" + strings.Repeat("x", MaxLine) + "\n" + tail, pmi.ErrTooLong},
		"endless":            {head + strings.Repeat("arg1="+strings.Repeat("x", 1000)+"\n", 2100) + tail, pmi.ErrTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			var s Spawn
			if request, err := play(&s, tt.text); request != nil || !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v, want %v", request, err, tt.want)
			}
		})
	}
}
