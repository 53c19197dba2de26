package bfrops

// Queries reads a number of questions and then the questions.
func (r *Reader) Queries() []Query {
	const minBytes = 2 // bytes of an empty question
	n := r.number(minBytes)
	if n == 0 || r.err != nil {
		return nil
	}
	r.Count(n)
	queries := make([]Query, 0, n)
	for range n {
		q := Query{Keys: r.texts(r.signed(4))}
		q.Qualifiers = r.infos(r.bounded(r.size(), 3))
		if r.err != nil {
			return nil
		}
		queries = append(queries, q)
	}
	return queries
}

// Queries packs a number of questions and then the questions.
func (w *Writer) Queries(queries []Query) {
	w.Size(len(queries))
	if len(queries) == 0 {
		return
	}
	w.Count(len(queries))
	for i := range queries {
		w.texts(queries[i].Keys)
		w.size(uint64(len(queries[i].Qualifiers)))
		w.infos(queries[i].Qualifiers)
	}
}
