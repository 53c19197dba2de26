package client

import (
	"context"
	"iter"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// ListJobs returns the jobs of a list page by page, so that neither side ever holds more than one.
// An error ends it.
func (c *Client) ListJobs(ctx context.Context, r *scorev1.ListJobsRequest) iter.Seq2[*scorev1.Job, error] {
	return pages(func(page *scorev1.JobPage) ([]*scorev1.Job, *scorev1.JobPage, error) {
		next := proto.CloneOf(r)
		next.Page = page
		reply, err := c.Jobs.ListJobs(ctx, connect.NewRequest(next))
		if err != nil {
			return nil, nil, err
		}
		return reply.Msg.GetJobs(), reply.Msg.GetNext(), nil
	})
}

// History returns finished jobs as ListJobs does.
func (c *Client) History(ctx context.Context, r *scorev1.GetHistoryRequest) iter.Seq2[*scorev1.Job, error] {
	return pages(func(page *scorev1.JobPage) ([]*scorev1.Job, *scorev1.JobPage, error) {
		next := proto.CloneOf(r)
		next.Page = page
		reply, err := c.Jobs.GetHistory(ctx, connect.NewRequest(next))
		if err != nil {
			return nil, nil, err
		}
		return reply.Msg.GetJobs(), reply.Msg.GetNext(), nil
	})
}

func pages(ask func(*scorev1.JobPage) ([]*scorev1.Job, *scorev1.JobPage, error)) iter.Seq2[*scorev1.Job, error] {
	return func(yield func(*scorev1.Job, error) bool) {
		for page, first := (*scorev1.JobPage)(nil), true; first || page != nil; first = false {
			jobs, next, err := ask(page)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, job := range jobs {
				if !yield(job, nil) {
					return
				}
			}
			page = next
		}
	}
}
