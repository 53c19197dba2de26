package leader

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
)

// publish publishes a name. A repeated request is granted again, since an agent may have lost the
// answer.
func (c *controller) publish(key nameKey, wanted name) error {
	if old, taken := c.names[key]; taken {
		if old.by == (requestKey{}) {
			old.by = wanted.by
		}
		if old != wanted {
			return errNameTaken
		}
		return nil
	}
	j := c.jobs[wanted.job]
	if err := c.mayPublish(j, key, wanted); err != nil {
		return err
	}
	j.names++
	c.countPublished(j, wanted.size(key.service))
	c.names[key] = wanted
	c.propose(&statepb.Command{Command: &statepb.Command_PublishName{PublishName: &statepb.PublishName{
		JobId: j.id, Service: key.service, Port: wanted.port, Once: wanted.once,
		By: c.requestBy(state.NameRequest{Job: j.id, Node: wanted.by.node, Number: wanted.by.request}),
	}}})
	return nil
}

// mayPublish refuses a name that is too much for the cluster.
func (c *controller) mayPublish(j *job, key nameKey, wanted name) error {
	switch {
	case !j.active():
		return errJobEnding
	case key.service == "" || len(key.service) > maxServiceName:
		return fmt.Errorf("a name has 1 to %d bytes, not %d", maxServiceName, len(key.service))
	case len(wanted.port) > maxPortName:
		return fmt.Errorf("%d bytes are published under one name, the most is %d", len(wanted.port), maxPortName)
	case j.names >= state.MaxNamesPerJob:
		return fmt.Errorf("the job has published %d names, the most that it may; unpublish some", j.names)
	case c.account(key.uid, j.user.GetUser()).published+wanted.size(key.service) > maxPublishedOfOne:
		return fmt.Errorf("what your jobs have published is all of the %d MiB that it may be; unpublish some names", maxPublishedOfOne>>20)
	case !texts.Valid(key.service, wanted.port):
		return c.requireProtocol(protocol.Texts)
	}
	return nil
}

// requestBy returns the request for the log, or nil if the log's protocol does not have it.
func (c *controller) requestBy(by state.NameRequest) *statepb.NameRequest {
	if c.requireProtocol(protocol.Answers) != nil {
		return nil
	}
	return &statepb.NameRequest{JobId: by.Job, Node: by.Node, Request: by.Number}
}

// restoreNames restores the names, and answers that may have been lost with an earlier leader.
func (c *controller) restoreNames(s *state.State) {
	for _, record := range s.Names() {
		c.names[nameKey{record.UID, record.Service}] = name{
			port: record.Port, job: record.Job, once: record.Once, by: requestKey{record.By.Node, record.By.Number},
		}
		if j := c.jobs[record.Job]; j != nil {
			j.names++
			c.countPublished(j, len(record.Service)+len(record.Port))
		}
	}
	for _, j := range c.jobs {
		for _, a := range s.Job(j.id).Answers {
			c.keepReply(j, a.Node, &scorev1.NameReply{JobId: j.id, Request: a.Number, Ok: true, Port: a.Port})
		}
	}
}

func (c *controller) unpublish(j *job, key nameKey, by state.NameRequest) bool {
	if c.names[key].job != j.id || !j.active() {
		return false
	}
	j.names--
	c.countPublished(j, -c.names[key].size(key.service))
	delete(c.names, key)
	c.propose(&statepb.Command{Command: &statepb.Command_UnpublishName{UnpublishName: &statepb.UnpublishName{
		JobId: j.id, Service: key.service, By: c.requestBy(by),
	}}})
	return true
}

// dropNames removes a job's names and lookups; the entry of its end does the same in the state.
func (c *controller) dropNames(j *job) {
	j.replies = replies{}
	c.countPublished(j, -j.published)
	c.account(j.user.GetUid(), j.user.GetUser()).lookups -= len(j.lookups)
	for key, name := range c.names {
		if name.job == j.id {
			delete(c.names, key)
		}
	}
	keys := make(map[nameKey]bool)
	for _, key := range j.lookups {
		keys[key] = true
	}
	j.lookups = nil
	for key := range keys {
		others := slices.DeleteFunc(c.lookups[key], func(w nameWait) bool { return w.job == j.id })
		if c.lookups[key] = others; len(others) == 0 {
			delete(c.lookups, key)
		}
	}
}

// countPublished counts the bytes of names and answers.
func (c *controller) countPublished(j *job, change int) {
	j.published += change
	c.account(j.user.GetUid(), j.user.GetUser()).published += change
}

func (n name) size(service string) int { return len(service) + len(n.port) }
