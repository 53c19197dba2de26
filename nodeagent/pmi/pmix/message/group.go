package message

import "score/nodeagent/pmi/pmix/bfrops"

// Group is a request to construct a group of processes or to destruct it.
type Group struct {
	Name string
	Collective
}

// ReadGroup reads a Group.
func ReadGroup(r *bfrops.Reader) Group { return Group{r.Text(), ReadCollective(r)} }

// Write writes the request after its command.
func (m *Group) Write(w *bfrops.Writer) {
	w.Text(m.Name)
	m.Collective.Write(w)
}

// Constructed is the reply to a construct that succeeded.
type Constructed struct {
	Members []bfrops.Proc
	// Number is the group's context: no other group has it.
	Number uint64
}

// firstWithFlags is the first release of libpmix that reads a flag before the number, and what the
// members have said about themselves after it.
const firstWithFlags = 6

// Write writes the reply for a client of the release.
func (m *Constructed) Write(w *bfrops.Writer, release int) {
	w.Status(Success)
	w.Procs(m.Members)
	if release >= firstWithFlags {
		w.One(bfrops.NewBool(true))
	}
	w.One(bfrops.NewNumber(bfrops.Size, m.Number))
	if release >= firstWithFlags {
		w.Size(0)
	}
}
