package leader

import (
	"score/gang"
	"score/scored/state"
)

// numbers are numbers that agents have got from a controller.
type numbers struct {
	term, plan uint64 // of the newest plan
	planTime   int64
	ask        uint64
}

func (c *controller) numbers() numbers {
	return numbers{term: c.term, plan: c.rotation.Version, planTime: c.planTime, ask: c.asks.last}
}

// continueFrom continues the numbers of an earlier controller of the same term: agents obey only
// plans that are newer than those that they have.
func (c *controller) continueFrom(from numbers) {
	if from.term == c.term {
		c.rotation.Version, c.planTime, c.asks.last = from.plan, from.planTime, from.ask
	}
}

func (c *controller) restoreNode(record *state.Node) {
	n := &node{
		name: record.Name, address: record.Address, cpus: record.CPUs, memory: record.MemoryBytes,
		version: record.Version, bootID: record.BootID, notes: record.Notes, sharesCPUs: record.SharesCPUs, channels: record.Channels,
		drain: record.Drain, since: c.now, fencesByMessage: record.FencesByMessage,
	}
	c.nodes[n.name] = n
	if err := c.gang.AddNode(n.column()); err != nil {
		c.log("a committed node does not fit: " + err.Error())
		return
	}
	n.inMatrix = true
	c.updateDrain(n)
	c.setNodeDeadline(n, c.nodeGrace())
}

// restoreJob restores a job from the log. Nodes hold its parts, or will say that they do not.
func (c *controller) restoreJob(record *state.Job) {
	j := &job{
		id: record.ID, spec: record.Spec, listed: listedSpec(record.Spec), user: record.User,
		parents: record.Parent, parent: c.jobs[record.Parent], spawnedBy: record.SpawnedBy, preput: record.Preput,
		charged: record.Usage, earlier: record.Earlier, bytes: specBytes(record.Spec),
		attempt: newAttempt(), submitted: record.Submitted, attempts: record.Attempts, restarts: record.Restarts, because: record.Because,
	}
	j.allocated, j.started = record.Allocated, record.Started
	j.memory = int64(min(record.MemoryPerNode, gang.MaxMemory))
	j.request = j.requestOf()
	j.request.Again = true // it was accepted: it waits for nodes that are gone, as before this leader
	c.addJob(j)
	if j.needsOwner() {
		c.awaitOwner(j)
	}
	j.restoreWithheld(record)
	if record.Phase == state.Queued {
		if j.withheld() {
			return
		}
		if err := c.gang.Submit(j.request); err != nil {
			c.becomeDone(j, verdict(cluster, exitCluster, "after the server's restart the job no longer fits: %s; submit it again", plain(err)))
		}
		return
	}
	c.restorePlaces(j, record)
}

func (c *controller) restorePlaces(j *job, record *state.Job) {
	allocation := gang.Allocation{Job: gang.JobID(j.id), Gang: gang.JobID(record.Gang), Row: int(record.Row)}
	for _, p := range record.Places {
		j.parts = append(j.parts, &part{Place: p})
		allocation.Places = append(allocation.Places, gang.Place{Node: gang.NodeID(p.Node), CPUs: widen(p.CPUs), Ranks: widen(p.Ranks)})
	}
	j.row, j.founder, j.inherited = allocation.Row, allocation.Gang, true
	j.state = starting
	if record.Phase == state.Running {
		j.state = running
	}
	if err := c.gang.Restore(j.request, allocation); err != nil {
		c.becomeEnding(j, verdict(cluster, exitCluster, "after the server's restart the job's places could not be kept: %s; submit it again", plain(err)))
		return
	}
	if j.state == running {
		c.setDeadline(j, launchTimeout) // its nodes report again what they have started
		return
	}
	c.gang.SetIdle(gang.JobID(j.id), true)
	c.setDeadline(j, prepareTimeout+stageTime(j.spec))
}
