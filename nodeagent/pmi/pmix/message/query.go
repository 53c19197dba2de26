package message

import "score/nodeagent/pmi/pmix/bfrops"

// ReadQuery reads the queries of a request.
func ReadQuery(r *bfrops.Reader) []bfrops.Query { return r.Queries() }

// WriteQuery writes queries after the command.
func WriteQuery(w *bfrops.Writer, queries []bfrops.Query) { w.Queries(queries) }

// WriteResults writes the reply to a query, or to job control.
func WriteResults(w *bfrops.Writer, code int32, results []bfrops.Info) {
	w.Status(code)
	w.Infos(results)
}

// ReadResults reads the reply of WriteResults.
func ReadResults(r *bfrops.Reader) (code int32, results bfrops.Infos) { return r.Status(), r.Infos() }
