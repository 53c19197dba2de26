package pmix

import (
	"bytes"
	"encoding/binary"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"score/nodeagent/pmi/pmix/transcript"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestRecordedClients says to the server what clients of several libpmix have said, and expects the
// answers that they have understood.
func TestRecordedClients(t *testing.T) {
	recordings, err := transcript.Read("message/testdata/libpmix-*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i := range recordings {
		t.Run(recordings[i].File, func(t *testing.T) {
			r := replay{
				host: recordedHost(t, &recordings[i]), conns: make(map[string]ConnID),
				want: make(map[string][]string), names: make(map[string]string),
			}
			for j := range recordings[i].Lines {
				r.line(&recordings[i].Lines[j])
			}
			if v := r.violation(); v != "" {
				t.Fatal(v)
			}
			for rank, id := range r.conns {
				r.compare(rank, answers(r.replies[id]), r.want[rank])
			}
		})
	}
}

// recordedHost makes the server that a recording was of: what its ranks were told of their job says
// which.
func recordedHost(t *testing.T, recorded *transcript.Transcript) *host {
	t.Helper()
	first := slices.IndexFunc(recorded.Lines, func(l transcript.Line) bool { return l.Kind == transcript.Reply })
	greeting, err := message.ReadHello(recorded.Lines[0].Data)
	encoding, known := bfrops.Named(greeting.Encoding)
	if first < 0 || err != nil || !known {
		t.Fatalf("no answers, or a greeting that is none: %+v, %v", greeting, err)
	}
	name, keys := message.ReadJob(bfrops.NewReader(encoding, recorded.Lines[first].Data))
	job, ok := numberOf(name)
	if !ok {
		t.Fatalf("job %q", name)
	}
	ranks := make([]int32, keys["pmix.job.size"][0].Number)
	universe := keys["pmix.ssn.arr"][0].Parts[1].Parts[2].Number
	return hostOf(t, Config{
		Job: job, NodeNames: []string{keys["pmix.nlist"][0].Text}, RankNode: ranks,
		UniverseSize: int(universe), SessionDir: keys["pmix.tmpdir"][0].Text,
	})
}

// replay is a recording that is gone through.
type replay struct {
	*host
	conns map[string]ConnID
	// want are the answers that the recording has, by rank, each with its tag.
	want  map[string][]string
	names map[string]string
	// left are the requests that were left out, by rank and tag.
	left []string
}

// spawned is the job that recorded ones have spawned. It has its own server: what is asked of it is
// left out.
const spawned = "score_2"

func (r *replay) line(l *transcript.Line) {
	r.t.Helper()
	r.now = time.Unix(1000, 0).Add(l.At)
	r.obey(r.server.Tick(r.now))
	switch l.Kind {
	case transcript.Hello:
		m, err := message.ReadHello(l.Data)
		if err != nil {
			r.t.Fatal(l.Where, err)
		}
		id, _ := r.server.Accept()
		header := binary.NativeEndian.AppendUint64(m.Append(nil)[:8], uint64(len(l.Data))) // newer libraries say more than Append
		r.feed(id, append(header, l.Data...))
		if got := r.replies[id]; !bytes.Equal(got, message.AppendWelcome(nil, m.Rank)) {
			r.t.Fatalf("%s: answered %q", l.Where, got)
		}
		r.replies[id] = nil
		r.conns[m.Namespace+"."+strconv.Itoa(int(m.Rank))] = id
	case transcript.Request:
		if bytes.Contains(l.Data, []byte(spawned)) {
			r.left = append(r.left, l.Rank+" "+strconv.Itoa(int(l.Tag)))
			return
		}
		r.feed(r.conns[l.Rank], append(message.Header{Tag: l.Tag, Length: uint32(len(l.Data))}.Append(nil), l.Data...))
		r.serve()
	case transcript.Reply:
		if slices.Contains(r.left, l.Rank+" "+strconv.Itoa(int(l.Tag))) {
			return
		}
		r.want[l.Rank] = append(r.want[l.Rank], strconv.Itoa(int(l.Tag))+" "+string(l.Data))
	}
}

// serve does what the leader does: names, and a job that is spawned.
func (r *replay) serve() {
	tasks := r.tasks
	r.tasks = nil
	for i := range tasks {
		switch e := &tasks[i]; {
		case e.Kind == Violation:
			r.tasks = append(r.tasks, *e)
		case e.Kind != Event:
		case e.Event.Kind == pmi.EventNameOp:
			op := e.Event.Name
			ok, port := r.name(&op)
			r.obey(r.server.Do(r.now, func(e *pmi.Engine) error { e.NameResult(op.ID, ok, port); return nil }))
		case e.Event.Kind == pmi.EventSpawn:
			id := e.Event.Spawn.ID
			r.obey(r.server.Do(r.now, func(e *pmi.Engine) error {
				e.SpawnResult(id, pmi.SpawnResult{KVSName: spawned})
				return nil
			}))
		}
	}
}

func (r *replay) name(op *pmi.NameOp) (ok bool, port string) {
	port, there := r.names[op.Service]
	switch op.Kind {
	case pmi.NamePublish:
		if !there {
			r.names[op.Service] = op.Port
		}
		return !there, ""
	case pmi.NameUnpublish:
		delete(r.names, op.Service)
		return there, ""
	case pmi.NameLookup:
	}
	return there, port
}

// answers cuts what a client was sent into messages, each with its tag.
func answers(data []byte) (all []string) {
	for len(data) > 0 {
		header := message.ReadHeader(data)
		end := message.HeaderLen + int(header.Length)
		all = append(all, strconv.Itoa(int(header.Tag))+" "+string(data[message.HeaderLen:end]))
		data = data[end:]
	}
	return all
}

// compare compares answers, whatever their order: that of events and answers is free.
func (r *replay) compare(rank string, got, want []string) {
	r.t.Helper()
	for _, s := range got {
		if i := slices.Index(want, s); i >= 0 {
			want = slices.Delete(want, i, i+1)
			continue
		}
		r.t.Errorf("%s was told %q", rank, s)
	}
	for _, s := range want {
		r.t.Errorf("%s was not told %q", rank, s)
	}
}
