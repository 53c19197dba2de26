package cli

import (
	"fmt"
	"score/scored/api/scorev1"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func exampleMessages(times uint64) *scorev1.Messages {
	return &scorev1.Messages{
		Contexts: 2 * times, Sent: 120_000 * times, SentBytes: 64 << 20 * times, Received: 119_990 * times, ReceivedBytes: 63 << 20 * times,
		Full: 7 * times, Nacked: 40 * times, Resent: 41 * times,
		Transports: &scorev1.Transports{
			DirectOperations: 1200 * times, WindowsMapped: 2 * times, CopiedBytes: 32 << 20 * times, StreamedBytes: 8 << 20 * times,
			BulkBytes: 6 << 20 * times, PiecesAgain: 3 * times,
			Rendezvous: 64 * times, RendezvousOpen: times, UnexpectedBytes: 4096 * times,
		},
	}
}

func exampleTimes(median int64) *scorev1.StepTimes {
	return &scorev1.StepTimes{Count: 356, MedianNanos: median, P99Nanos: 3 * median, MaxNanos: 10 * median, SumNanos: 356 * median}
}

func exampleShares() []*scorev1.NodeShare {
	return []*scorev1.NodeShare{
		{
			Node: "n1", Usage: &scorev1.Usage{RunNanos: 35_700_000_000, Slices: 357, SwitchNanos: 42_840_000, Messages: exampleMessages(1)},
			Total: exampleTimes(120_000), Flush: exampleTimes(30_000), Flushes: &scorev1.Flushes{Clean: 700, CutOff: 2},
		},
		{
			Node: "n2", Usage: &scorev1.Usage{RunNanos: 35_600_000_000, Slices: 357, SwitchNanos: 40_000_000, Messages: exampleMessages(1)},
			Total: exampleTimes(140_000), Flush: exampleTimes(35_000),
		},
	}
}

// exampleTop is a cluster in which three jobs take turns and one waits.
func exampleTop() *scorev1.GetTopResponse {
	running := scorev1.JobState_JOB_STATE_RUNNING
	cell := func(node string, job uint64) *scorev1.MatrixRow_Cell {
		return &scorev1.MatrixRow_Cell{Node: node, JobId: job}
	}
	return &scorev1.GetTopResponse{
		NowNanos: at(60), Cluster: "lab", Nodes: 3, NodesUp: 2, ToRunning: exampleTimes(95_000), Skew: exampleTimes(4_100),
		Matrix: &scorev1.GetMatrixResponse{PlanVersion: 12, RowOn: 1, Rows: []*scorev1.MatrixRow{
			{Index: 0, SliceNanos: 1e8, Cells: []*scorev1.MatrixRow_Cell{cell("n1", 1), cell("n1", 5)}},
			{Index: 1, SliceNanos: 2e8, Cells: []*scorev1.MatrixRow_Cell{cell("n2", 3), cell("n1", 3)}},
		}},
		Jobs: []*scorev1.TopJob{
			{JobId: 1, Name: "lone", User: "ann", State: running, Ranks: 1, Nodes: 1, Share: 0.331, Usage: &scorev1.Usage{Slices: 17}},
			{
				JobId: 3, Name: "ocean", User: "ann", State: running, Ranks: 4, Nodes: 2, Row: 1, Share: 0.6649, SentPerSecond: 12_345_678,
				BytesPerSecond: 3 << 30, NackedPerSecond: 19.6, ResentPerSecond: 12_300, Flush: exampleTimes(30_000), Total: exampleTimes(120_000),
				Usage: &scorev1.Usage{Slices: 357, Messages: exampleMessages(2)},
			},
			{JobId: 4, Name: "evil\x1b[2Jname", User: "bob", State: scorev1.JobState_JOB_STATE_QUEUED, Ranks: 64, Row: -1},
			{
				JobId:         5,
				Name:          "talk",
				User:          "bob",
				State:         running,
				Ranks:         2,
				Nodes:         1,
				Share:         0.331,
				SentPerSecond: 1,
				Usage:         &scorev1.Usage{Slices: 17},
				Idle:          &scorev1.Idleness{SinceNanos: at(50)},
			},
		},
	}
}

func frameText(frame []topLine) string {
	var text strings.Builder
	for _, line := range frame {
		text.WriteString(line.text + "\n")
	}
	return text.String()
}

// TestFrameFits: a frame is never larger than the screen, and says what it leaves out.
func TestFrameFits(t *testing.T) {
	top := exampleTop()
	for i := range uint64(40) {
		row := &scorev1.MatrixRow{Index: uint32(i + 2), SliceNanos: 1e8}
		for n := range 64 {
			row.Cells = append(row.Cells, &scorev1.MatrixRow_Cell{Node: fmt.Sprintf("x%02d", n), JobId: 10 + i})
		}
		top.Matrix.Rows = append(top.Matrix.Rows, row)
		top.Jobs = append(top.Jobs, &scorev1.TopJob{JobId: 10 + i, State: scorev1.JobState_JOB_STATE_RUNNING, Row: int32(i + 2)})
	}
	top.JobsLeftOut = 9
	for width := 1; width < 200; width += 37 {
		for height := 1; height < 120; height += 3 {
			frame := topFrame(top, topSorts[1], width, height)
			if len(frame) > height {
				t.Fatalf("%d lines on a screen of %d", len(frame), height)
			}
			for _, line := range frame {
				if n := len([]rune(line.text)); n > width {
					t.Fatalf("%d columns on a screen of %d: %q", n, width, line.text)
				}
			}
		}
	}
	want := `14:14:20  cluster lab, 2 of 3 nodes up, 43 jobs run, 1 waits
switch, planned instant to running everywhere: median 95.0 u
skew between the nodes of a switch: median 4.1 us, p99 12.3 

ROW  SLICE     n1   n2  x00..x63
0    100.0 ms  1 5  -   -
1*   200.0 ms  3    3   -
2    100.0 ms  -    -   10
3    100.0 ms  -    -   11
4    100.0 ms  -    -   12
5    100.0 ms  -    -   13
... 36 rows more

JOB  USER  STATE    RANKS  ROW  SHARE  MSG/S  BYTES/S  REFUS
3    ann   running  4      1*   66.5%  12.3M  3G       20   
1    ann   running  1      0    33.1%  0      0        0    
... 42 jobs more
`
	if diff := cmp.Diff(want, frameText(topFrame(top, topSorts[1], 60, 17))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
