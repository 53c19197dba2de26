package sim

// eventKind says what happens.
type eventKind uint8

const (
	evArrive    eventKind = iota // flight ref arrives
	evTick                       // end ref's deadline
	evApp                        // end ref's process takes a turn
	evPause                      // end ref loses its driver
	evUnpause                    // and has one again
	evSwitch                     // job ref's next slice begins or ends on node arg
	evCutoff                     // end ref's flush has lasted long enough
	evCrash                      // end ref dies
	evRestart                    // end ref's drivers forget
	evClose                      // end ref's process closes its end
	evPeerDied                   // end ref is notified that rank arg is dead
	evFaultsEnd                  // all faults end

	// Where gangs are switched.
	evSubmit    // job ref comes
	evPrepared  // part ref is prepared
	evPlan      // plan ref reaches node arg
	evMachine   // the deadline of node ref's machine
	evAnswer    // answer ref reaches the machine of node arg
	evOrder     // the order to part ref's contexts is carried out
	evOver      // and has lasted long enough
	evFrozen    // the freeze arg of part ref has taken
	evLaunched  // the processes of part ref exist
	evCheck     // the agent looks at end ref
	evPoll      // is job ref complete?
	evEnded     // the leader learns that job ref ended
	evRemove    // part ref is removed
	evDrift     // the clock of node ref has drifted
	evUngrab    // the process of end ref lets go of the driver lock
	evAgentBack // the agent of node ref starts again
	evAudit     // are gangs whole?
	evAgentDies // the agent of node ref dies, some acts later
	evAgentIdle // or now, if it did nothing
	evJump      // the clock of node ref is stepped
	evLeader    // another server leads
	evRankDies  // a rank dies
	evJobDies   // a job is ended
	evGrab      // a process does not let go of the driver lock
	evHostile   // a process writes into its image what it likes

	// Where ranks have transports.
	evTransport // the process of end ref looks at its transport
	evBulk      // bulk datagram ref arrives
)

// event is something that happens at an instant.
type event struct {
	at    int64
	order uint64 // of making, so that equal instants have one order for ever
	kind  eventKind
	arg   uint16
	ref   int32
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// queue is a binary heap of events.
type queue struct {
	heap []event
	made uint64
}

func (q *queue) add(at int64, kind eventKind, ref int32, arg uint16) {
	q.made++
	q.heap = append(q.heap, event{at: at, order: q.made, kind: kind, arg: arg, ref: ref})
	h := q.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// take removes the earliest event.
func (q *queue) take() (event, bool) {
	h := q.heap
	if len(h) == 0 {
		return event{}, false
	}
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	q.heap = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first, true
		}
		if child+1 < last && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&h[i]) {
			return first, true
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
