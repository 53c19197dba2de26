package message

import "score/nodeagent/pmi/pmix/bfrops"

// NotifyRequest is an event from a client.
type NotifyRequest struct {
	Code  int32
	Range uint8
	Infos bfrops.Infos
}

// ReadNotify reads a NotifyRequest.
func ReadNotify(r *bfrops.Reader) NotifyRequest {
	return NotifyRequest{Code: r.Status(), Range: r.Scope(), Infos: r.Infos()}
}

// Write writes the request after its command.
func (m *NotifyRequest) Write(w *bfrops.Writer) {
	w.Status(m.Code)
	w.One(bfrops.NewNumber(bfrops.Range, uint64(m.Range)))
	w.Infos(m.Infos)
}

// Event is an event from a server to its clients.
type Event struct {
	Code   int32
	Source bfrops.Proc
	Range  uint8
	Infos  bfrops.Infos
}

// Write writes the whole payload, which begins with a command. Older clients do not read the range.
func (m *Event) Write(w *bfrops.Writer) {
	w.One(bfrops.NewNumber(bfrops.Command, uint64(Notify)))
	w.Status(m.Code)
	w.One(bfrops.NewProc(m.Source))
	w.Infos(m.Infos)
	w.One(bfrops.NewNumber(bfrops.Range, uint64(m.Range)))
}

// ReadEvent reads an Event after its command.
func ReadEvent(r *bfrops.Reader) Event {
	m := Event{Code: r.Status()}
	r.Count(1)
	if name := r.Plain(bfrops.ProcType); r.Err() == nil {
		m.Source = bfrops.Proc{Namespace: name.Parts[0].Text, Rank: uint32(name.Parts[1].Number)}
	}
	m.Infos = r.Infos()
	m.Range = r.Scope()
	return m
}
