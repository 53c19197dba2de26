package message

import "score/nodeagent/pmi/pmix/bfrops"

// JobControlRequest asks that something be done to processes, or after them.
type JobControlRequest struct {
	Targets []bfrops.Proc
	Infos   bfrops.Infos
}

// ReadJobControl reads a JobControlRequest.
func ReadJobControl(r *bfrops.Reader) JobControlRequest {
	return JobControlRequest{Targets: r.Procs(), Infos: r.Infos()}
}

// Write writes the request behind its command.
func (m *JobControlRequest) Write(w *bfrops.Writer) {
	w.Procs(m.Targets)
	w.Infos(m.Infos)
}
