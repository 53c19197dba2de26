package message

import (
	"score/nodeagent/pmi/pmix/bfrops"
	"slices"
	"testing"
)

func TestReplies(t *testing.T) {
	owner := bfrops.Proc{Namespace: "score_7", Rank: 3}
	value := bfrops.NewString("v")
	pairs := []Pair{{"k", Pack(&value)}}
	for _, encoding := range []bfrops.Encoding{bfrops.V41, bfrops.V3} {
		check := func(what string, write func(*bfrops.Writer), read func(*bfrops.Reader) bool) {
			t.Helper()
			w := bfrops.NewWriter(encoding, nil)
			write(w)
			r := bfrops.NewReader(encoding, w.Bytes())
			if !read(r) || r.Err() != nil || r.Left() > 0 {
				t.Errorf("%s in %v: %v, %d bytes left of %q", what, encoding, r.Err(), r.Left(), w.Bytes())
			}
		}
		check("status", func(w *bfrops.Writer) { WriteStatus(w, ErrNotFound) },
			func(r *bfrops.Reader) bool { return ReadStatus(r) == ErrNotFound })
		check("card", func(w *bfrops.Writer) { WriteCard(w, owner, pairs) }, func(r *bfrops.Reader) bool {
			code, of, got := ReadCard(r)
			return code == Success && of == owner && slices.Equal(got, pairs)
		})
		check("found", func(w *bfrops.Writer) { WriteFound(w, ErrPartial, []Found{{owner, "k", pairs[0].Packed}}) },
			func(r *bfrops.Reader) bool {
				code, got := ReadFound(r)
				return code == ErrPartial && slices.Equal(got, []Found{{owner, "k", pairs[0].Packed}})
			})
		check("spawned", func(w *bfrops.Writer) { WriteSpawned(w, Success, "score_8") }, func(r *bfrops.Reader) bool {
			code, name := ReadSpawned(r)
			return code == Success && name == "score_8"
		})
		for release, more := range map[int]bool{5: false, 6: true} {
			check("constructed", func(w *bfrops.Writer) { (&Constructed{[]bfrops.Proc{owner}, 1 << 38}).Write(w, release) },
				func(r *bfrops.Reader) bool {
					ok := ReadStatus(r) == Success && slices.Equal(r.Procs(), []bfrops.Proc{owner})
					if more {
						r.Count(1)
						flag := r.Plain(bfrops.Bool)
						ok = ok && flag.Number == 1
					}
					ok = ok && r.Size() == 1<<38
					return ok && (!more || r.Size() == 0)
				})
		}
		check("results", func(w *bfrops.Writer) { WriteResults(w, Success, []bfrops.Info{{Key: "k", Value: value}}) },
			func(r *bfrops.Reader) bool {
				code, got := ReadResults(r)
				return code == Success && len(got) == 1 && got[0].Value.Text == "v"
			})
		check("event", func(w *bfrops.Writer) {
			(&Event{Code: ErrProcSignal, Source: owner, Range: RangeNamespace}).Write(w)
		}, func(r *bfrops.Reader) bool {
			command := Command(r.Command())
			e := ReadEvent(r)
			return command == Notify && e.Code == ErrProcSignal && e.Source == owner && e.Range == RangeNamespace
		})
	}
}

// TestJob checks what ranks are told, by the keys without which clients hang.
func TestJob(t *testing.T) {
	parent := bfrops.Proc{Namespace: "score_6", Rank: bfrops.Undef}
	job := &Job{Namespace: "score_7", NodeNames: []string{"a", "b"}, RankNode: []int32{0, 1, 0}, Parent: &parent, SessionDir: "/tmp/x"}
	for _, encoding := range []bfrops.Encoding{bfrops.V41, bfrops.V3} {
		w := bfrops.NewWriter(encoding, nil)
		WriteJob(w, job)
		r := bfrops.NewReader(encoding, w.Bytes())
		name, keys := ReadJob(r)
		if r.Err() != nil || name != "score_7" || keys["pmix.job.size"][0].Number != 3 || !keys["pmix.spawned"][0].True() ||
			keys["pmix.nlist"][0].Text != "a,b" || keys["pmix.parent"][0].Parts[0].Text != "score_6" || len(keys["pmix.node.arr"]) != 2 {
			t.Fatalf("%v: %v %q %v", encoding, r.Err(), name, keys)
		}
		peers := keys["pmix.node.arr"][0].Parts[3].Parts
		if peers[0].Text != "pmix.lpeers" || peers[2].Text != "0,2" {
			t.Errorf("peers of the first node: %v", peers)
		}
		blob := bfrops.NewReader(encoding, []byte(keys["pmix.pblob"][2].Text))
		if rank := blob.Rank(); rank != 2 {
			t.Errorf("third rank is %d", rank)
		}
		if key, value := blob.KVal(); key != "pmix.lrank" || value.Number != 1 {
			t.Errorf("%s is %d on its node", key, value.Number)
		}
	}
}

// TestApps checks what ranks are told of the commands of a job with two.
func TestApps(t *testing.T) {
	job := &Job{Namespace: "score_7", NodeNames: []string{"a", "b"}, RankNode: []int32{0, 1, 0}, RankApp: []int32{0, 1, 1}}
	for _, encoding := range []bfrops.Encoding{bfrops.V41, bfrops.V3} {
		w := bfrops.NewWriter(encoding, nil)
		WriteJob(w, job)
		_, keys := ReadJob(bfrops.NewReader(encoding, w.Bytes()))
		if keys["pmix.job.napps"][0].Number != 2 || len(keys["pmix.app.arr"]) != 2 {
			t.Fatalf("%v: %v", encoding, keys)
		}
		for i, want := range []uint64{1, 2, 1} {
			if info := keys["pmix.app.arr"][1].Parts[i].Parts; info[2].Number != want {
				t.Errorf("%v: %s of the second command is %d", encoding, info[0].Text, info[2].Number)
			}
		}
		blob, rank := bfrops.NewReader(encoding, []byte(keys["pmix.pblob"][2].Text)), make(map[string]uint64)
		_ = blob.Rank()
		for blob.Left() > 0 && blob.Err() == nil {
			key, value := blob.KVal()
			rank[key] = value.Number
		}
		if rank["pmix.nodeid"] != 0 || rank["pmix.appnum"] != 1 || rank["pmix.apprank"] != 1 || rank["pmix.app.size"] != 2 || rank["pmix.aldr"] != 1 {
			t.Errorf("%v: the last rank is told %v", encoding, rank)
		}
	}
}

// TestForeignJob is for the reply to a get: a process, then keys.
func TestForeignJob(t *testing.T) {
	job := &Job{Namespace: "score_8", NodeNames: []string{"a", "b"}, RankNode: []int32{0, 1, 1}}
	for _, encoding := range []bfrops.Encoding{bfrops.V41, bfrops.V3} {
		w := bfrops.NewWriter(encoding, nil)
		WriteForeignJob(w, job)
		r := bfrops.NewReader(encoding, w.Bytes())
		code, of, pairs := ReadCard(r)
		keys := make(map[string][]string)
		for _, pair := range pairs {
			keys[pair.Key] = append(keys[pair.Key], pair.Packed)
		}
		if code != Success || of != (bfrops.Proc{Namespace: "score_8", Rank: bfrops.Wildcard}) || r.Err() != nil || len(keys["pmix.pdata"]) != 3 {
			t.Fatalf("%v: %d of %v, %v: %q", encoding, code, of, r.Err(), keys)
		}
		size, err := Unpack(keys["pmix.job.size"][0])
		if err != nil || size.Number != 3 {
			t.Errorf("%v: %+v, %v", encoding, size, err)
		}
		last, err := Unpack(keys["pmix.pdata"][2])
		if err != nil || last.Parts[0].Parts[2].Number != 2 || last.Parts[3].Parts[2].Number != 1 {
			t.Errorf("%v: %+v, %v", encoding, last, err)
		}
	}
}

// TestPackedByAnotherNode is for values that were damaged on their way.
func TestPackedByAnotherNode(t *testing.T) {
	w := bfrops.NewWriter(bfrops.V3, nil)
	writePairs(w, []Pair{{"bad", "\xff\xff"}, {"good", Pack(&bfrops.Value{Type: bfrops.Bool, Number: 1})}})
	r := bfrops.NewReader(bfrops.V3, w.Bytes())
	if key, value := r.KVal(); key != "good" || !value.True() || r.Left() > 0 {
		t.Errorf("%s: %+v, %v", key, value, r.Err())
	}
}

// TestPackedByANewerClient is for values of types that libpmix 3 does not have.
func TestPackedByANewerClient(t *testing.T) {
	array := bfrops.Value{Type: bfrops.DataArray, Elem: bfrops.InfoType, Parts: bfrops.NewInfos(
		bfrops.Info{Key: "a", Value: bfrops.Value{Type: bfrops.Namespace, Text: "score_1"}}).Parts}
	for name, v := range map[string]bfrops.Value{
		"a type": {Type: bfrops.DeviceType, Number: 1}, "compressed": {Type: bfrops.CompressedText, Text: "x"}, "within": array,
	} {
		pairs := []Pair{{"new", Pack(&v)}, {"old", Pack(&bfrops.Value{Type: bfrops.Bool, Number: 1})}}
		for encoding, first := range map[bfrops.Encoding]string{bfrops.V3: "old", bfrops.V41: "new"} {
			w := bfrops.NewWriter(encoding, nil)
			writePairs(w, pairs)
			if key, _ := bfrops.NewReader(encoding, w.Bytes()).KVal(); key != first {
				t.Errorf("%s in %v: the first is %q", name, encoding, key)
			}
		}
	}
}
