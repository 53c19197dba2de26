package message

import "score/nodeagent/pmi/pmix/bfrops"

// LogRequest asks the server to show text to the user.
type LogRequest struct {
	// Time is the time of the text, in seconds since the epoch; 0: unknown. Libraries before 3 do
	// not send it.
	Time       uint64
	Data       bfrops.Infos
	Directives bfrops.Infos
}

// ReadLog reads a LogRequest.
func ReadLog(r *bfrops.Reader) LogRequest {
	r.Count(1)
	v := r.Plain(bfrops.Time)
	return LogRequest{Time: v.Number, Data: r.Infos(), Directives: r.Infos()}
}

// Write writes the request after its command.
func (m *LogRequest) Write(w *bfrops.Writer) {
	w.One(bfrops.NewNumber(bfrops.Time, m.Time))
	w.Infos(m.Data)
	w.Infos(m.Directives)
}
