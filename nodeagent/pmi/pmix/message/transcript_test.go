package message

import (
	"bytes"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/transcript"
	"testing"
)

// captured is a payload that a client of libpmix has sent.
type captured struct {
	name     string
	encoding bfrops.Encoding
	payload  []byte
}

// requests reads the payloads of the transcripts, each in the encoding that its
// client has greeted with.
func requests(t testing.TB) []captured {
	t.Helper()
	var all []captured
	for _, recorded := range transcripts(t) {
		encoding := bfrops.V41
		for _, line := range recorded.Lines {
			switch line.Kind {
			case transcript.Hello:
				h, err := ReadHello(line.Data)
				known := false
				if encoding, known = bfrops.Named(h.Encoding); err != nil || !known {
					t.Fatalf("%s: %+v, %v", line.Where, h, err)
				}
			case transcript.Request:
				all = append(all, captured{line.Where, encoding, line.Data})
			case transcript.Reply:
			}
		}
	}
	return all
}

func transcripts(t testing.TB) []transcript.Transcript {
	t.Helper()
	all, err := transcript.Read("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// other is the encoding that a client does not have.
func (c *captured) other() bfrops.Encoding { return bfrops.V41 + bfrops.V3 - c.encoding }

// rewrite reads a request and writes it again.
func rewrite(payload []byte, encoding bfrops.Encoding, to bfrops.Encoding) (Command, []byte, error) {
	r := bfrops.NewReader(encoding, payload)
	command := Command(r.Command())
	w := bfrops.NewWriter(to, nil)
	w.One(bfrops.NewNumber(bfrops.Command, uint64(command)))
	switch command {
	case Abort:
		m := ReadAbort(r)
		m.Write(w)
	case Commit:
		m := ReadCommit(r)
		WriteCommit(w, m)
	case Fence, Connect, Disconnect:
		m := ReadCollective(r)
		m.Write(w)
	case GroupConstruct, GroupDestruct:
		m := ReadGroup(r)
		m.Write(w)
	case Get:
		m := ReadGet(r)
		m.Write(w)
	case Publish:
		m := ReadPublish(r)
		m.Write(w)
	case Lookup, Unpublish:
		m := ReadLookup(r)
		m.Write(w)
	case Spawn:
		m := ReadSpawn(r)
		m.Write(w)
	case Notify:
		m := ReadNotify(r)
		m.Write(w)
	case RegisterEvents:
		m := ReadRegister(r)
		m.Write(w)
	case DeregisterEvents:
		for _, code := range ReadDeregister(r) {
			w.Status(code)
		}
	case Query:
		WriteQuery(w, ReadQuery(r))
	case Log:
		m := ReadLog(r)
		m.Write(w)
	case JobControl:
		m := ReadJobControl(r)
		m.Write(w)
	default:
	}
	if r.Err() == nil && r.Left() > 0 && command != Connect { // libpmix 6 adds what it knows of itself
		return command, nil, bfrops.ErrMalformed
	}
	return command, w.Bytes(), r.Err()
}

// TestTranscripts reads what real clients have sent and writes it again, in its
// own encoding and, by way of the other one, back.
func TestTranscripts(t *testing.T) {
	seen := make(map[Command]int)
	for _, c := range requests(t) {
		command, again, err := rewrite(c.payload, c.encoding, c.encoding)
		if err != nil {
			t.Errorf("%s: %v: %v", c.name, command, err)
			continue
		}
		seen[command]++
		whole := bytes.Equal(again, c.payload) || command == Connect && bytes.HasPrefix(c.payload, again)
		if !whole && command != Unpublish {
			t.Errorf("%s: %v\n was %q\nis   %q", c.name, command, c.payload, again)
		}
		_, across, err := rewrite(c.payload, c.encoding, c.other())
		if err != nil {
			t.Fatal(err)
		}
		_, back, err := rewrite(across, c.other(), c.encoding)
		if err != nil || !bytes.Equal(back, again) {
			t.Errorf("%s: %v by way of %v: %v\n was %q\nis   %q", c.name, command, c.other(), err, again, back)
		}
	}
	for _, command := range []Command{
		JobInfo, Abort, Commit, Fence, Get, Finalize, Publish, Lookup, Unpublish, Spawn, Connect,
		Disconnect, Notify, RegisterEvents, DeregisterEvents, Query, Log, JobControl, GroupConstruct, GroupDestruct,
	} {
		if seen[command] == 0 {
			t.Errorf("no transcript has a whole %v", command)
		}
	}
}

// TestOtherRequests does the same with those that no transcript has.
func TestOtherRequests(t *testing.T) {
	infos := bfrops.Infos{
		{Key: "a", Flags: 1, Value: bfrops.NewBool(true)},
		{Key: "b", Value: bfrops.Value{Type: bfrops.DataArray, Elem: bfrops.Uint8, Text: "bytes"}},
	}
	proc := bfrops.Proc{Namespace: "score_1", Rank: bfrops.Wildcard}
	for command, write := range map[Command]func(*bfrops.Writer){
		Spawn: (&SpawnRequest{Infos: infos, Apps: []bfrops.App{{
			Command: "c", Args: []string{"c", "x y"},
			Env: []string{"A=b"}, Dir: "/tmp", MaxProcs: 3, Infos: infos,
		}}}).Write,
		Notify:    (&NotifyRequest{Code: -25, Range: RangeGlobal, Infos: infos}).Write,
		Query:     func(w *bfrops.Writer) { WriteQuery(w, []bfrops.Query{{Keys: []string{"k"}, Qualifiers: infos}, {}}) },
		Log:       (&LogRequest{Time: 1, Data: infos, Directives: infos}).Write,
		Abort:     (&AbortRequest{Code: 3, Text: "why", Procs: []bfrops.Proc{proc}}).Write,
		Unpublish: (&LookupRequest{UID: 5, Keys: []string{"k", "l"}, Infos: infos}).Write,
		Get:       (&GetRequest{Proc: proc, Infos: infos, Key: "k"}).Write,
	} {
		for _, encoding := range []bfrops.Encoding{bfrops.V41, bfrops.V3} {
			w := bfrops.NewWriter(encoding, nil)
			w.One(bfrops.NewNumber(bfrops.Command, uint64(command)))
			write(w)
			_, again, err := rewrite(w.Bytes(), encoding, encoding)
			if err != nil || !bytes.Equal(again, w.Bytes()) {
				t.Errorf("%v in %v: %v\n was %q\nis   %q", command, encoding, err, w.Bytes(), again)
			}
		}
	}
}

// TestCutRequests cuts every request at every byte: it is read as malformed, or,
// where it ends in repetitions, as shorter.
func TestCutRequests(t *testing.T) {
	for _, c := range requests(t) {
		for n := range min(len(c.payload), 200) {
			command, again, err := rewrite(c.payload[:n], c.encoding, c.encoding)
			if err == nil && len(again) > n && command != Get && command != Unpublish {
				t.Fatalf("%s cut to %d bytes became %d", c.name, n, len(again))
			}
		}
	}
}

func FuzzRequest(f *testing.F) {
	for _, c := range requests(f) {
		f.Add(c.payload, c.encoding == bfrops.V41)
		if _, across, err := rewrite(c.payload, c.encoding, c.other()); err == nil {
			f.Add(across, c.encoding != bfrops.V41)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte, flexible bool) {
		encoding := bfrops.V3
		if flexible {
			encoding = bfrops.V41
		}
		_, again, err := rewrite(payload, encoding, encoding)
		if err != nil {
			return
		}
		// What was understood once is understood again, and alike.
		_, third, err := rewrite(again, encoding, encoding)
		if err != nil || !bytes.Equal(third, again) {
			t.Errorf("%v\n first %q\nsecond %q", err, again, third)
		}
	})
}
