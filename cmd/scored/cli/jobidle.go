package cli

import (
	"fmt"
	"io"
	"score/scored/api/scorev1"
	"strconv"
)

// idleData describes a running job whose ranks all sleep, as --json prints it.
type idleData struct {
	SinceNanos      int64      `json:"since_nanos"`
	DeadlockedNanos int64      `json:"deadlocked_nanos"`
	WakeSource      string     `json:"wake_source"`
	Sent            uint64     `json:"sent"`
	Received        uint64     `json:"received"`
	Refused         uint64     `json:"refused"`
	Waits           []waitData `json:"waits"`
}

type waitData struct {
	Rank       uint32 `json:"rank"`
	Node       string `json:"node"`
	Channel    uint32 `json:"channel"`
	Wait       string `json:"wait"`
	SinceNanos int64  `json:"since_nanos"`
	Sent       uint64 `json:"sent"`
	Received   uint64 `json:"received"`
}

func newIdleData(idle *scorev1.Idleness) *idleData {
	if idle == nil {
		return nil
	}
	data := &idleData{
		SinceNanos: idle.GetSinceNanos(), DeadlockedNanos: idle.GetDeadlockedNanos(), WakeSource: idle.GetWakeSource(),
		Sent: idle.GetSent(), Received: idle.GetReceived(), Refused: idle.GetRefused(), Waits: []waitData{},
	}
	for _, w := range idle.GetWaits() {
		data.Waits = append(data.Waits, waitData{
			Rank: w.GetRank(), Node: w.GetNode(), Channel: w.GetChannel(), Wait: w.GetWait(),
			SinceNanos: w.GetSinceNanos(), Sent: w.GetSent(), Received: w.GetReceived(),
		})
	}
	return data
}

// jobStateWord returns a job's state as the commands job and top print it: a running job whose
// ranks all sleep is idle or deadlocked, and a waiting job may be held.
func jobStateWord(job interface {
	GetState() scorev1.JobState
	GetIdle() *scorev1.Idleness
	GetHold() *scorev1.Hold
},
) string {
	switch idle := job.GetIdle(); {
	case job.GetHold() != nil:
		return "held"
	case idle == nil:
		return stateWord(job.GetState())
	case idle.GetDeadlockedNanos() != 0:
		return "deadlocked"
	default:
		return "idle"
	}
}

// idleLines returns lines about since when a job is idle and what may wake it.
func idleLines(idle *scorev1.Idleness) (lines [][2]string) {
	if idle == nil {
		return nil
	}
	lines = append(lines, [2]string{"idle since", instant(idle.GetSinceNanos())})
	if idle.GetDeadlockedNanos() != 0 {
		lines = append(lines, [2]string{"deadlocked", "found " + instant(idle.GetDeadlockedNanos())})
	}
	if idle.GetWakeSource() != "" {
		lines = append(lines, [2]string{"may be woken", idle.GetWakeSource()})
	}
	return lines
}

// printWaits prints what the ranks of a sleeping job wait for, a line for each channel.
func printWaits(out io.Writer, waits []*scorev1.RankWait) error {
	if len(waits) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t := newTable(out, "RANK", "NODE", "CHANNEL", "WAITS FOR", "SINCE", "SENT", "RECEIVED")
	for _, w := range waits {
		t.row(strconv.Itoa(int(w.GetRank())), w.GetNode(), strconv.Itoa(int(w.GetChannel())), w.GetWait(),
			instant(w.GetSinceNanos()), strconv.FormatUint(w.GetSent(), 10), strconv.FormatUint(w.GetReceived(), 10))
	}
	return t.flush()
}
