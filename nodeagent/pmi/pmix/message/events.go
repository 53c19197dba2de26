package message

import "score/nodeagent/pmi/pmix/bfrops"

// EventsRequest registers for events, or takes that back. No code stands for all
// of them, as does the code AllEvents when taken back.
type EventsRequest struct {
	Codes []int32
	Infos bfrops.Infos
}

// AllEvents stands for the registration for all codes.
const AllEvents int32 = -0x80000000

// ReadRegister reads an EventsRequest that registers.
func ReadRegister(r *bfrops.Reader) EventsRequest {
	m := EventsRequest{}
	if n := r.Size(); n > 0 {
		m.Codes = r.Statuses(n)
	}
	m.Infos = r.Infos()
	return m
}

// Write writes the request behind its command.
func (m *EventsRequest) Write(w *bfrops.Writer) {
	w.Size(len(m.Codes))
	if len(m.Codes) > 0 {
		w.Statuses(m.Codes)
	}
	w.Infos(m.Infos)
}

// ReadDeregister reads codes one by one, as clients send them.
func ReadDeregister(r *bfrops.Reader) []int32 {
	var codes []int32
	for r.Left() > 0 && r.Err() == nil {
		codes = append(codes, r.Status())
	}
	return codes
}
