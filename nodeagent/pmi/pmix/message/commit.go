package message

import "score/nodeagent/pmi/pmix/bfrops"

// Scopes, as PMIx numbers them.
const (
	ScopeNode   = 1
	ScopeRemote = 2
	ScopeGlobal = 3
)

// Pair is a key with its value. The value is packed in V41, with its type before it, so the server
// can keep it and pass it on without knowing its content.
type Pair struct {
	Key    string
	Packed string
}

// CommitPart holds the keys of a commit for one scope.
type CommitPart struct {
	Scope uint8
	Pairs []Pair
}

// ReadCommit reads the keys that a rank has put since its last commit.
func ReadCommit(r *bfrops.Reader) []CommitPart {
	var parts []CommitPart
	for r.Left() > 0 {
		part := CommitPart{Scope: r.Scope()}
		buffer := r.Buffer()
		for buffer.Left() > 0 {
			key, value := buffer.KVal()
			if buffer.Err() != nil {
				break
			}
			part.Pairs = append(part.Pairs, Pair{key, Pack(&value)})
		}
		r.Adopt(buffer)
		if r.Err() != nil {
			return nil
		}
		parts = append(parts, part)
	}
	return parts
}

// WriteCommit writes a commit after its command.
func WriteCommit(w *bfrops.Writer, parts []CommitPart) {
	for i := range parts {
		w.One(bfrops.NewNumber(bfrops.ScopeType, uint64(parts[i].Scope)))
		buffer := w.Sub()
		for _, p := range parts[i].Pairs {
			if v, err := Unpack(p.Packed); err == nil {
				buffer.KVal(p.Key, v)
			}
		}
		w.Buffer(buffer)
	}
}

// Pack packs a value for a Pair.
func Pack(v *bfrops.Value) string {
	w := bfrops.NewWriter(bfrops.V41, nil)
	w.Value(v)
	return string(w.Bytes())
}

// Unpack is the inverse of Pack.
func Unpack(packed string) (bfrops.Value, error) {
	r := bfrops.NewReader(bfrops.V41, []byte(packed))
	v := r.Value()
	return v, r.Err()
}

// writePairs writes keys with their values for a client of the writer's encoding. It leaves out
// values that the client cannot read; they come from another node or from a client with a newer
// library.
func writePairs(w *bfrops.Writer, pairs []Pair) {
	for _, p := range pairs {
		if w.Encoding() == bfrops.V41 {
			w.RawKVal(p.Key, p.Packed)
			continue
		}
		if v, err := Unpack(p.Packed); err == nil && w.Encoding().Reads(&v) {
			w.KVal(p.Key, v)
		}
	}
}
