package client

import (
	"context"
	"crypto/rand"
	"score/scored/api"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
)

// keyBytes is the length of a submission's key.
const keyBytes = 16

// Submit submits a job and returns its number. It repeats the submission under a key of its own
// until it has the answer, within the patience of ctx; however often it does so, there is one job.
func (c *Client) Submit(ctx context.Context, spec *scorev1.JobSpec) (uint64, error) {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	reply, err := c.Jobs.Submit(ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: spec, Version: api.Version(), Key: key}))
	if err != nil {
		return 0, err
	}
	return reply.Msg.GetJobId(), nil
}
