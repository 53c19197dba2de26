package message

import "score/nodeagent/pmi/pmix/bfrops"

// AbortRequest ends processes. Without processes it ends the whole job.
type AbortRequest struct {
	Code  int32
	Text  string
	Procs []bfrops.Proc
}

// ReadAbort reads an AbortRequest.
func ReadAbort(r *bfrops.Reader) AbortRequest {
	return AbortRequest{Code: r.Status(), Text: r.Text(), Procs: r.Procs()}
}

// Write writes the request after its command.
func (m *AbortRequest) Write(w *bfrops.Writer) {
	w.Status(m.Code)
	w.Text(m.Text)
	w.Procs(m.Procs)
}
