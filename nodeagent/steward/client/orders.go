package client

import (
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"time"
)

// Prepare orders the steward to prepare a job; Prepared answers.
func (c *Conn) Prepare(order *stewardpb.PrepareJob) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Prepare{Prepare: order}})
}

// Launch starts the ranks. Launched answers, or Abort.
func (c *Conn) Launch() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Launch{Launch: true}})
}

// Signal sends a signal to every rank's process group.
func (c *Conn) Signal(signal int32) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Signal{Signal: signal}})
}

// Ending announces that the next signals end the job: a rank that dies does not end the others.
func (c *Conn) Ending() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Ending{Ending: true}})
}

// Reason gives the reason of the next Kill, for the output file of a job that has not started.
func (c *Conn) Reason(reason string) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Reason{Reason: reason}})
}

// Kill ends the job on this node, whatever its state; NodeDone answers.
func (c *Conn) Kill() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Kill{Kill: true}})
}

// Lease lets the ranks live until an instant of CLOCK_MONOTONIC, in nanoseconds.
func (c *Conn) Lease(until int64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Lease{Lease: until}})
}

// RankFailure reports the failure, or the new start, of a rank of another node while the job goes
// on.
func (c *Conn) RankFailure(m *stewardpb.RankFailure) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_RankFailure{RankFailure: m}})
}

// PartLost reports that nothing of the job runs on another node any more.
func (c *Conn) PartLost(lost *stewardpb.PartLost) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_PartLost{PartLost: lost}})
}

// ChildEnded reports that a job which this one spawned has ended.
func (c *Conn) ChildEnded(m *agentpb.ChildEnded) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_ChildEnded{ChildEnded: m}})
}

// Collective answers a Collective.
func (c *Conn) Collective(result *stewardpb.CollectiveResult) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Collective{Collective: result}})
}

// Name answers a NameRequest.
func (c *Conn) Name(reply *agentpb.NameReply) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Name{Name: reply}})
}

// Spawn answers a SpawnRequest.
func (c *Conn) Spawn(reply *agentpb.SpawnReply) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Spawn{Spawn: reply}})
}

// Relay delivers a message of another steward.
func (c *Conn) Relay(m *stewardpb.Relay) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Relay{Relay: m}})
}

// RelayFailed returns a message that could not be delivered.
func (c *Conn) RelayFailed(m *stewardpb.Relay) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_RelayFailed{RelayFailed: m}})
}

// Places answers a PlacesRequest.
func (c *Conn) Places(reply *agentpb.PlacesReply) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Places{Places: reply}})
}

// AskRankStates asks for the ranks' states; RankStatesReply answers, with the same number.
func (c *Conn) AskRankStates(number uint64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_AskRankStates{AskRankStates: number}})
}

// Examine asks what could wake the job's processes; Examined answers, with the same number.
func (c *Conn) Examine(question *stewardpb.Examine) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Examine{Examine: question}})
}

// Taken reports that the job's output up to a number need not be kept.
func (c *Conn) Taken(sequence uint64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Taken{Taken: sequence}})
}

// Pace bounds for a while how many bytes of output are read in a second; 0 lifts the bound.
func (c *Conn) Pace(rate uint64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Pace{Pace: rate}})
}

// Forget reports that the job's end is committed: the steward exits once its output has been read.
func (c *Conn) Forget() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Forget{Forget: true}})
}

// Recycle reports the same, and that the steward may serve again. The steward
// answers with a Status that names no job, or exits; Next returns the Conn for
// its next job.
func (c *Conn) Recycle() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Recycle{Recycle: true}})
}

func (c *Conn) send(m *stewardpb.ToSteward) error {
	return c.shared.stream.send(c, m, time.Now().Add(answerWait))
}
