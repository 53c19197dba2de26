package fabric

import (
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

const (
	// enough packets of the job that is on show that it goes on, and that packets are counted.
	enough = 500
	// looks at each of the two jobs while it is off.
	looks = 2
	// maxChannels are more than half of a node's: two jobs with as many do not fit beside each
	// other.
	maxChannels = nodeagent.DefaultChannels/2 + 1
)

// processor is what the processes of a job have had of the processors.
type processor struct {
	ticks   time.Duration // by the processes' own count
	threads string        // the time that each thread has had, and how often, as the scheduler counts it
}

// processor reads the kernel's accounts of all threads of a job.
func (s *scene) processor(j *job) (p processor) {
	s.T.Helper()
	for _, rank := range s.ranks(j) {
		p.ticks += rank.ProcessorTime()
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", rank.PID))
		s.Check(err)
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			s.Check(err)
			f := strings.Fields(string(text)) // time with a processor, time without, times
			p.threads += strings.Join([]string{thread, f[0], f[2]}, " ") + "\n"
		}
	}
	if p.threads == "" {
		s.T.Fatalf("job %d has no thread; scrun ended: %v, and said:\n%s", j.id, j.scrun.Over(), j.scrun.Said())
	}
	return p
}

// isOn reports whether the row that is on has the job.
func (s *scene) isOn(j *job) bool {
	reply, err := s.Cluster.Cluster.GetMatrix(s.Ctx, connect.NewRequest(&scorev1.GetMatrixRequest{}))
	if err != nil {
		return false
	}
	for _, row := range reply.Msg.GetRows() {
		for _, cell := range row.GetCells() {
			if int32(row.GetIndex()) == reply.Msg.GetRowOn() && cell.GetJobId() == j.id {
				return true
			}
		}
	}
	return false
}

// still reports whether all processes of a job stand still.
func (s *scene) still(j *job) bool {
	for _, rank := range s.ranks(j) {
		if !rank.Still() {
			return false
		}
	}
	return true
}

// compareTraffic compares a job's counters at two instants of one slice of another job.
func (s *scene) compareTraffic(m meters, off, on *job) {
	s.T.Helper()
	for tries := 1; ; tries++ {
		s.Await(fmt.Sprintf("job %d is on and job %d off", on.id, off.id), func() bool { return s.isOn(on) && s.still(off) })
		began := time.Now()
		m.lost(s.T)
		offEnds, onEnds := s.endpoints(off), s.endpoints(on)
		offBefore, onBefore, hadBefore := m.sum(offEnds), m.sum(onEnds), s.processor(off)
		s.Await(fmt.Sprintf("job %d goes on", on.id), func() bool {
			return time.Since(began) > s.slice || m.sum(onEnds) >= onBefore+enough
		})
		had, packets, exchanged := s.processor(off), m.sum(offEnds)-offBefore, m.sum(onEnds)-onBefore
		lost := m.lost(s.T)
		took := time.Since(began)
		if !s.isOn(on) || took > s.slice || lost > 0 {
			if tries == 20 {
				s.T.Fatalf("no look in %d tries: the last took %v of a slice of %v, and %d packets were not counted", tries, took, s.slice, lost)
			}
			if took > s.slice {
				s.setSlice(min(2*s.slice, maxSlice))
			}
			continue
		}
		s.T.Logf("job %d, off for %v while job %d had %d packets: %d packets", off.id, time.Since(began).Round(time.Millisecond), on.id, exchanged, packets)
		if packets > 0 {
			s.T.Errorf("job %d is off, and there were %d packets of it", off.id, packets)
		}
		if had != hadBefore {
			s.T.Errorf("job %d is off, and had a processor:\n%v%vbefore:\n%v%v", off.id, had.threads, had.ticks, hadBefore.threads, hadBefore.ticks)
		}
		return
	}
}

// Two programs take turns. The program that is off has no processor and no packet on any link,
// whether its channels stay in the network or leave it.
func TestStoppedGangIsSilent(t *testing.T) {
	s := newScene(t)
	for _, tt := range []struct {
		name     string
		channels int
	}{{"channels stay", 1}, {"channels leave", maxChannels}} {
		t.Run(tt.name, func(t *testing.T) {
			m := s.meters()
			one := s.talk("-n", "2", "--fabric", "pm", "--channels", strconv.Itoa(tt.channels))
			two := s.talk("-n", "2", "--fabric", "pm", "--channels", strconv.Itoa(tt.channels))
			for range looks {
				s.compareTraffic(m, one, two)
				s.compareTraffic(m, two, one)
			}
			s.stop(one)
			s.stop(two)
		})
	}
	s.End()
}
