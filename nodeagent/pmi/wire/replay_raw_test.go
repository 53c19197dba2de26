package wire

import (
	"fmt"
	"score/nodeagent/pmi"
	"strings"
	"testing"
)

// The raw client was recorded under hydra and under a forerunner of this
// server. Only rank 0 of each job is in the recording; the others did what
// companion does.
func TestReplayRawClient(t *testing.T) {
	for _, tt := range []struct {
		file                  string
		parent, child         string
		universe              int
		answer                pmi.SpawnResult
		mapping, childMapping string
	}{
		{
			file: "hydra_rawclient", universe: -1,
			parent: "kvs_28484_0_1186037456_vm", child: "kvs_28484_1_651087535_vm",
			// Hydra says only one rank per node and lets clients repeat it.
			mapping: "(vector,(0,1,1))", childMapping: "(vector,(0,1,1))",
		},
		{
			file: "pmi1_rawclient", parent: "kvs_28694_0", child: "kvs_28694_1",
			answer:  pmi.SpawnResult{KVSName: "kvs_28694_1", ErrCodes: []int{0, 0, 0}},
			mapping: "(vector,(0,1,2))", childMapping: "(vector,(0,1,3))",
		},
	} {
		t.Run(tt.file, func(t *testing.T) {
			names := nameTable{ports: make(map[string]string)}
			parent := newTestJob(t, pmi.JobInfo{KVSName: tt.parent, RankNode: oneNode(2), UniverseSize: tt.universe})
			var child *testJob
			parent.onName = names.do
			parent.onSpawn = func(request *pmi.SpawnRequest) pmi.SpawnResult {
				checkRawSpawn(t, request)
				child = newTestJob(t, pmi.JobInfo{
					KVSName: tt.child, RankNode: oneNode(processes(request)), UniverseSize: tt.universe,
					SpawnerJob: tt.parent, Preput: request.Preput,
				})
				return tt.answer
			}
			job, mapping := parent, tt.mapping
			for at, text := range readLines(t, tt.file) {
				// Only requests say whose they are; the reply is the next line.
				if text, ok := strings.CutPrefix(text, "child -> "); ok {
					job, mapping = child, tt.childMapping
					sendRaw(job, unrepr(t, text))
				} else if text, ok := strings.CutPrefix(text, "-> "); ok {
					job, mapping = parent, tt.mapping
					sendRaw(job, unrepr(t, text))
				} else if text, ok := strings.CutPrefix(text, "   <- "); ok {
					want := refusal(unrepr(t, text))
					want = strings.ReplaceAll(want, mapping, fmt.Sprintf("(vector,(0,1,%d))", job.info.Size()))
					if got := job.take(0); got != want {
						t.Fatalf("line %d:\n got %q\nwant %q", at+1, got, want)
					}
				}
			}
			if parent.servers[0].Engine().Phase(0) != pmi.PhaseFinalized || child.servers[0].Engine().Phase(0) != pmi.PhaseFinalized {
				t.Error("the recording did not come to finalize")
			}
		})
	}
}

func sendRaw(job *testJob, words string) {
	if words == line1("cmd=barrier_in") {
		companions(job)
	}
	job.feed(0, words)
}

// companions brings the other ranks of a job into the barrier.
func companions(job *testJob) {
	for rank := 1; rank < job.info.Size(); rank++ {
		job.feed(rank, line1("cmd=init pmi_version=1 pmi_subversion=1"))
		job.feed(rank, line1(fmt.Sprintf("cmd=put kvsname=%s key=k%d value=v%d", job.info.KVSName, rank, rank)))
		job.feed(rank, line1("cmd=barrier_in"))
	}
}

func checkRawSpawn(t *testing.T, request *pmi.SpawnRequest) {
	t.Helper()
	got := fmt.Sprintf("%+v %v", request.Apps, request.Preput)
	want := "[{Command:pmi1_client.py Args:[a b=c] MaxProcs:2 Env:[] Info:[{Key:wdir Value:/tmp}]}" +
		" {Command:pmi1_client.py Args:[] MaxProcs:1 Env:[] Info:[]}] map[PARENT_ROOT_PORT_NAME:tag#0$x=1;y$]"
	if got != want {
		t.Errorf("spawn\n got %s\nwant %s", got, want)
	}
}
