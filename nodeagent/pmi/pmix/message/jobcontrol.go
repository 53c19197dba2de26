package message

import "score/nodeagent/pmi/pmix/bfrops"

// JobControlRequest asks the server to do something to processes, or after their end.
type JobControlRequest struct {
	Targets []bfrops.Proc
	Infos   bfrops.Infos
}

// ReadJobControl reads a JobControlRequest.
func ReadJobControl(r *bfrops.Reader) JobControlRequest {
	return JobControlRequest{Targets: r.Procs(), Infos: r.Infos()}
}

// Write writes the request after its command.
func (m *JobControlRequest) Write(w *bfrops.Writer) {
	w.Procs(m.Targets)
	w.Infos(m.Infos)
}
