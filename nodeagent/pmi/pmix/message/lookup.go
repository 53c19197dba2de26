package message

import "score/nodeagent/pmi/pmix/bfrops"

// LookupRequest asks for published values. An unpublish request has the same form.
type LookupRequest struct {
	UID   uint32
	Keys  []string
	Infos bfrops.Infos
}

// ReadLookup reads a LookupRequest.
func ReadLookup(r *bfrops.Reader) LookupRequest {
	m := LookupRequest{UID: r.Uint32()}
	n := r.Size()
	for i := uint64(0); i < n && r.Err() == nil; i++ {
		m.Keys = append(m.Keys, r.Text())
	}
	m.Infos = r.Infos()
	return m
}

// Write writes the request after its command.
func (m *LookupRequest) Write(w *bfrops.Writer) {
	w.One(bfrops.NewNumber(bfrops.Uint32, uint64(m.UID)))
	w.Size(len(m.Keys))
	for _, key := range m.Keys {
		w.Text(key)
	}
	w.Infos(m.Infos)
}

// Found is a published value.
type Found struct {
	Owner  bfrops.Proc
	Key    string
	Packed string
}

// WriteFound writes the reply to a lookup.
func WriteFound(w *bfrops.Writer, code int32, found []Found) {
	w.Status(code)
	w.Size(len(found))
	if len(found) == 0 {
		return
	}
	w.Count(len(found))
	for i := range found {
		v, err := Unpack(found[i].Packed)
		if err != nil || !w.Encoding().Reads(&v) {
			v = bfrops.Value{}
		}
		w.Data(&bfrops.Value{Type: bfrops.PData, Parts: []bfrops.Value{
			bfrops.NewProc(found[i].Owner), bfrops.NewString(found[i].Key), v,
		}})
	}
}

// ReadFound reads the reply to a lookup.
func ReadFound(r *bfrops.Reader) (code int32, found []Found) {
	code = r.Status()
	if r.Left() == 0 {
		return code, nil
	}
	n := r.Size()
	if n > 0 {
		r.Count(int(n))
	}
	for i := uint64(0); i < n && r.Err() == nil; i++ {
		v := r.Plain(bfrops.PData)
		if r.Err() != nil {
			break
		}
		owner := bfrops.Proc{Namespace: v.Parts[0].Parts[0].Text, Rank: uint32(v.Parts[0].Parts[1].Number)}
		found = append(found, Found{owner, v.Parts[1].Text, Pack(&v.Parts[2])})
	}
	return code, found
}
