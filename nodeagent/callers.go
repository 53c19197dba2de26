package nodeagent

import (
	"context"
	"fmt"
	"score/scored/api/identity/access"
	"score/scored/api/identity/pki"

	"connectrpc.com/connect"
)

// What other agents may ask of this one: of jobs that are on both nodes. Who calls is in the
// certificate.

// callsFor refuses an agent that is not the one of a node of the job.
func (j *job) callsFor(ctx context.Context, nodeIndex uint32) error {
	places := j.order.GetPlaces()
	caller, _ := access.CallerOf(ctx)
	if int64(nodeIndex) < int64(len(places)) && caller.Role == pki.Agent && caller.Name == places[nodeIndex].GetNode() {
		return nil
	}
	return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%s does not speak for part %d of job %d", caller, nodeIndex, j.id))
}
