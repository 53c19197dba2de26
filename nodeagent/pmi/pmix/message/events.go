package message

import "score/nodeagent/pmi/pmix/bfrops"

// EventsRequest registers for events, or deregisters. Without codes it registers for all events. To
// deregister from all events, clients send the code AllEvents.
type EventsRequest struct {
	Codes []int32
	Infos bfrops.Infos
}

// AllEvents deregisters from all events.
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

// Write writes the request after its command.
func (m *EventsRequest) Write(w *bfrops.Writer) {
	w.Size(len(m.Codes))
	if len(m.Codes) > 0 {
		w.Statuses(m.Codes)
	}
	w.Infos(m.Infos)
}

// ReadDeregister reads the codes, which clients send one by one.
func ReadDeregister(r *bfrops.Reader) []int32 {
	var codes []int32
	for r.Left() > 0 && r.Err() == nil {
		codes = append(codes, r.Status())
	}
	return codes
}
