package message

import "score/nodeagent/pmi/pmix/bfrops"

// ReadQuery reads the questions of a query.
func ReadQuery(r *bfrops.Reader) []bfrops.Query { return r.Queries() }

// WriteQuery writes them behind the command.
func WriteQuery(w *bfrops.Writer, queries []bfrops.Query) { w.Queries(queries) }

// WriteResults writes the reply to a query, or to job control.
func WriteResults(w *bfrops.Writer, code int32, results []bfrops.Info) {
	w.Status(code)
	w.Infos(results)
}

// ReadResults reads the reply.
func ReadResults(r *bfrops.Reader) (code int32, results bfrops.Infos) { return r.Status(), r.Infos() }
