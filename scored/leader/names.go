package leader

import (
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
)

// maxServiceName and maxPortName are those of the process management
// interface (PMI-1: keys and values of up to 1024 bytes with their frame).
const (
	maxServiceName = 256
	maxPortName    = 1024
)

// nameKey is what names are unique by: users do not see each other's.
type nameKey struct {
	uid     uint32
	service string
}

type name struct {
	port string
	job  uint64
}

// nameRequest publishes, finds or takes back a name for a rank. Repeating a
// request that was granted grants it again.
func (b *brain) nameRequest(n *node, m *scorev1.NameRequest) {
	j, p := b.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	reply := &scorev1.NameReply{JobId: m.GetJobId(), Request: m.GetRequest()}
	key := nameKey{j.user.GetUid(), m.GetService()}
	switch m.GetOp() {
	case scorev1.NameOp_NAME_OP_LOOKUP:
		reply.Port, reply.Ok = b.names[key].port, b.names[key].job != 0
	case scorev1.NameOp_NAME_OP_PUBLISH:
		reply.Ok = b.publish(j, key, m.GetPort())
	case scorev1.NameOp_NAME_OP_UNPUBLISH:
		reply.Ok = b.unpublish(j, key)
	case scorev1.NameOp_NAME_OP_UNSPECIFIED:
		// not ok
	}
	b.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Name{Name: reply}})
}

func (b *brain) publish(j *job, key nameKey, port string) bool {
	if old, taken := b.names[key]; taken {
		return old == name{port, j.id}
	}
	if !j.active() || len(key.service) > maxServiceName || len(port) > maxPortName || key.service == "" || j.names >= state.MaxNamesPerJob {
		return false
	}
	j.names++
	b.names[key] = name{port, j.id}
	b.propose(&statepb.Command{Command: &statepb.Command_PublishName{PublishName: &statepb.PublishName{
		JobId: j.id, Service: key.service, Port: port,
	}}})
	return true
}

func (b *brain) unpublish(j *job, key nameKey) bool {
	if b.names[key].job != j.id || !j.active() {
		return false
	}
	j.names--
	delete(b.names, key)
	b.propose(&statepb.Command{Command: &statepb.Command_UnpublishName{UnpublishName: &statepb.UnpublishName{
		JobId: j.id, Service: key.service,
	}}})
	return true
}

// dropNames forgets a job's names; the entry of its end does the same in the
// state.
func (b *brain) dropNames(id uint64) {
	for key, name := range b.names {
		if name.job == id {
			delete(b.names, key)
		}
	}
}
