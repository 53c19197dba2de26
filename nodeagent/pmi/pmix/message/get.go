package message

import "score/nodeagent/pmi/pmix/bfrops"

// GetRequest asks for the keys that a process has put; the reply holds all of them. With the rank
// Wildcard it asks about the job.
type GetRequest struct {
	Proc  bfrops.Proc
	Infos bfrops.Infos
	// Key is the key that the client wants; old clients do not send it.
	Key string
}

// ReadGet reads a GetRequest.
func ReadGet(r *bfrops.Reader) GetRequest {
	m := GetRequest{}
	m.Proc.Namespace, m.Proc.Rank = r.Text(), r.Rank()
	m.Infos = r.Infos()
	if r.Left() > 0 {
		m.Key = r.Text()
	}
	return m
}

// Write writes the request after its command.
func (m *GetRequest) Write(w *bfrops.Writer) {
	w.Text(m.Proc.Namespace)
	w.One(bfrops.NewNumber(bfrops.Rank, uint64(m.Proc.Rank)))
	w.Infos(m.Infos)
	w.Text(m.Key)
}

// WriteCard writes the reply to a get: the keys of a process.
func WriteCard(w *bfrops.Writer, of bfrops.Proc, pairs []Pair) {
	w.Status(Success)
	inner := w.Sub()
	inner.One(bfrops.NewProc(of))
	writePairs(inner, pairs)
	w.Object(inner.Bytes())
}

// ReadCard reads the reply to a get. If the code is not Success there are no keys.
func ReadCard(r *bfrops.Reader) (code int32, of bfrops.Proc, pairs []Pair) {
	if code = r.Status(); code != Success {
		return code, of, nil
	}
	inner := r.Object()
	inner.Count(1)
	name := inner.Plain(bfrops.ProcType)
	if inner.Err() == nil {
		of = bfrops.Proc{Namespace: name.Parts[0].Text, Rank: uint32(name.Parts[1].Number)}
	}
	for inner.Left() > 0 && inner.Err() == nil {
		key, value := inner.KVal()
		if inner.Err() == nil {
			pairs = append(pairs, Pair{key, Pack(&value)})
		}
	}
	r.Adopt(inner)
	return code, of, pairs
}
