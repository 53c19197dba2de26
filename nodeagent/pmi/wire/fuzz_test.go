package wire

import (
	"os"
	"path/filepath"
	"score/channels/keys/wire"
	"score/nodeagent/pmi"
	"strings"
	"testing"
)

// FuzzFeed lets two ranks say anything, cut anywhere: nothing may panic, and
// replies must be whole lines or frames that fit a client's buffer.
func FuzzFeed(f *testing.F) {
	f.Add(life1(0), life2(1), uint8(3))
	f.Add(life2(0), life1(1), uint8(1))
	f.Add(line1("cmd=init pmi_version=1 pmi_subversion=1")+"mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=1\nspawnssofar=1\nendcmd\n", "", uint8(200))
	f.Add(
		line1(
			"cmd=init pmi_version=1 pmi_subversion=1",
		)+"mcmd=spawn\nnprocs=1\nexecname=a\xff\ntotspawns=1\nspawnssofar=1\nargcnt=1\narg1=\xfe\nendcmd\n"+line1(
			"cmd=publish_name service=s\xff port=p\xfe",
		),
		line1("cmd=init pmi_version=1 pmi_subversion=1")+line1("cmd=lookup_name service=s\xff"),
		uint8(200),
	)
	f.Add(keysLife(), keysLife(), uint8(11))
	scripts, err := filepath.Glob(filepath.Join("testdata", "scripts", "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if body, ok := strings.CutPrefix(line, "0# "); ok {
				f.Add(life2(0)+frame2(body), life1(1), uint8(7))
			} else if body, ok := strings.CutPrefix(line, "0: "); ok {
				f.Add(line1("cmd=init pmi_version=1 pmi_subversion=1")+line1(body), life1(1), uint8(7))
			}
		}
	}
	f.Fuzz(func(t *testing.T, zero, one string, cut uint8) {
		j := newTestJob(t, pmi.JobInfo{KVSName: "kvs_1", RankNode: []int32{0, 0}})
		names := nameTable{ports: make(map[string]string)}
		j.onName = names.do
		j.onSpawn = func(request *pmi.SpawnRequest) pmi.SpawnResult {
			return pmi.SpawnResult{KVSName: "kvs_2", ErrCodes: make([]int, min(processes(request), 1<<10))}
		}
		size := int(cut) + 1
		for zero != "" || one != "" {
			zero, one = feedPart(j, 0, zero, size), feedPart(j, 1, one, size)
		}
		j.gone(0)
		j.gone(1)
	})
}

// keysLife is what a client of package keys says.
func keysLife() string {
	commit := wire.AppendPair(wire.AppendPair(nil, wire.Global, "card", "v"), wire.Node, "n", "")
	return wire.Hello + keysFrame(wire.Commit, commit) + keysFrame(wire.Fence, nil) + keysFrame(wire.Leave, nil)
}

// feedPart feeds one part and checks what came of it; it returns the rest.
func feedPart(j *testJob, rank int, text string, size int) string {
	size = min(size, len(text))
	j.feed(rank, text[:size])
	for rank := range 2 {
		for _, line := range strings.SplitAfter(j.take(rank), "\n") {
			if strings.HasSuffix(line, "\n") && strings.HasPrefix(line, "cmd=") && len(line) > 1024 {
				j.t.Errorf("rank %d is sent a line of %d bytes", rank, len(line))
			}
		}
	}
	return text[size:]
}
