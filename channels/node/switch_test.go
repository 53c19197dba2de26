package node

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"runtime"
	"score/channels"
	"score/channels/link"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// switcher orders the steps of one job on one node, and awaits each.
type switcher struct {
	job      *Job
	outcomes chan Outcome
	number   uint64

	flushed, cut, held int
}

// switchers adds a job, one rank per node, and gives those who switch it.
func (c *cluster) switchers(t testing.TB, key uint64) []*switcher {
	t.Helper()
	all := make([]*switcher, len(c.nodes))
	for i := range all {
		all[i] = &switcher{outcomes: make(chan Outcome, 1024)}
	}
	c.configure = func(i int, config *JobConfig) {
		config.Done = func(o Outcome) { all[i].outcomes <- o }
	}
	jobs, _ := c.add(t, key)
	c.configure = nil
	for i := range all {
		all[i].job = jobs[i]
	}
	return all
}

func jobsOf(all []*switcher) (jobs []*Job) {
	for _, s := range all {
		jobs = append(jobs, s.job)
	}
	return jobs
}

// step orders a step and awaits its end.
func (s *switcher) step(t testing.TB, step Step, timeout time.Duration) Outcome {
	t.Helper()
	s.number++
	o, over := s.job.Order(step, s.number, channels.Nanos()+int64(timeout))
	for !over {
		select {
		case o = <-s.outcomes:
			over = o.Number == s.number
		case <-time.After(patience):
			t.Errorf("step %d is never over", step)
			return Outcome{}
		}
	}
	if o.Step != step {
		t.Errorf("ordered step %d, told of %d", step, o.Step)
	}
	s.flushed, s.cut, s.held = s.flushed+o.Flushed, s.cut+o.CutOff, s.held+o.Held
	return o
}

// leave takes the job's contexts away.
func (s *switcher) leave(t testing.TB) Outcome {
	t.Helper()
	s.step(t, StepRevoke, time.Millisecond)
	s.step(t, StepFlush, 2*time.Millisecond)
	return s.step(t, StepSave, time.Second)
}

func (s *switcher) back(t testing.TB) { s.step(t, StepLoad, time.Second) }

// accepted counts the frames that the rank on this node has taken from other nodes.
func (s *switcher) accepted(t testing.TB, rank int) (frames uint64) {
	t.Helper()
	peers, err := s.job.Peers(1, uint32(rank))
	if err != nil {
		t.Error(err)
	}
	for _, p := range peers {
		frames += uint64(p.Receiver.Next)
	}
	return frames
}

// gang exchanges messages among all its ranks until stopped; each is numbered and has a checksum.
type gang struct {
	t        *testing.T
	ranks    []*rank
	stop     atomic.Bool
	sent     [][]atomic.Uint64 // [from][to]
	received [][]uint64        // [to][from]
	done     sync.WaitGroup
}

func newGang(t *testing.T, ranks []*rank) *gang {
	g := &gang{t: t, ranks: ranks, sent: make([][]atomic.Uint64, len(ranks)), received: make([][]uint64, len(ranks))}
	for i := range ranks {
		g.sent[i], g.received[i] = make([]atomic.Uint64, len(ranks)), make([]uint64, len(ranks))
	}
	for i := range ranks {
		g.done.Go(func() { g.run(i) })
	}
	return g
}

func (g *gang) run(me int) {
	r, to := g.ranks[me], me
	for !g.stop.Load() || !g.complete(me) {
		if !r.driver.Enter() {
			runtime.Gosched()
			g.take(me)
			continue
		}
		r.driver.Drive(channels.Nanos())
		if to = (to + 1) % len(g.ranks); to != me && !g.stop.Load() {
			number := g.sent[me][to].Load()
			if r.driver.Send(uint32(to), gangMessage(me, to, number), true, channels.Nanos()) == nil {
				g.sent[me][to].Add(1)
			}
		}
		r.driver.Leave()
		g.take(me)
	}
}

// complete reports whether all was received that was sent to the rank.
func (g *gang) complete(me int) bool {
	for from := range g.ranks {
		if g.received[me][from] != g.sent[from][me].Load() {
			return false
		}
	}
	return true
}

func (g *gang) take(me int) {
	in := g.ranks[me].in
	in.ResetIdle()
	m, ok := in.Poll()
	if !ok {
		return
	}
	for m.Available() < m.Len() {
		g.ranks[me].poll()
	}
	from := int(m.Rank())
	if want := string(gangMessage(from, me, g.received[me][from])); string(m.Head()) != want {
		g.t.Errorf("rank %d: message %d from %d is another: %d bytes for %d", me, g.received[me][from], from, m.Len(), len(want))
	}
	g.received[me][from]++
	if err := in.Release(m); err != nil {
		g.t.Error(err)
	}
}

// gangMessage returns a message that differs from all others; some are longer than a datagram.
func gangMessage(from, to int, number uint64) []byte {
	m := make([]byte, 24+number*97%5000)
	binary.LittleEndian.PutUint32(m[4:], uint32(from))
	binary.LittleEndian.PutUint32(m[8:], uint32(to))
	binary.LittleEndian.PutUint64(m[12:], number)
	for i := 20; i < len(m); i++ {
		m[i] = byte(number) + byte(i)
	}
	binary.LittleEndian.PutUint32(m, crc32.ChecksumIEEE(m[4:]))
	return m
}

// takeTurns switches between the two gangs on node i, each time a little later than the slice's
// start, and checks that the context of the gang that is away takes no frame.
func takeTurns(t *testing.T, start time.Time, i int, gangs ...*switcher) {
	const turns, slice = 60, 4 * time.Millisecond
	for turn := range turns {
		skew := time.Duration((turn*7+i*13)%5) * 100 * time.Microsecond
		time.Sleep(time.Until(start.Add(time.Duration(turn)*slice + skew)))
		out, in := gangs[turn%2], gangs[1-turn%2]
		o := out.leave(t)
		if o.Contexts != 1 || o.Flushed+o.CutOff+o.Held != 1 {
			t.Errorf("turn %d: %+v", turn, o)
		}
		held, was := o.Held > 0, uint64(0)
		if !held {
			was = out.accepted(t, i)
		}
		in.back(t)
		if turn+1 < turns {
			time.Sleep(time.Until(start.Add(time.Duration(turn+1) * slice)))
		}
		if held {
			continue // it follows when it lets go
		}
		if now := out.accepted(t, i); now != was {
			t.Errorf("turn %d: a context that is away took %d frames", turn, now-was)
		}
	}
}

// TestSwitchGangs: two gangs take turns on all nodes, with their messages on the way and with loss;
// each is switched at its own moment on each node. Everything arrives, and
// nothing comes to contexts that are away.
func TestSwitchGangs(t *testing.T) {
	const nodes = 3
	c := newCluster(t, nodes, Config{Faults: link.Faults{Loss: 0.01, Seed: 5}})
	gangs, all := make([]*gang, 2), make([][]*switcher, 2)
	ranks := make([][]*rank, 2)
	for k := range gangs {
		all[k] = c.switchers(t, testKey+1+uint64(k))
		for i := range nodes {
			ranks[k] = append(ranks[k], c.join(t, jobsOf(all[k]), uint32(i), 1))
		}
	}
	for i := range nodes {
		all[1][i].leave(t)
	}
	for k := range gangs {
		gangs[k] = newGang(t, ranks[k])
	}
	start := time.Now()
	var switching sync.WaitGroup
	for i := range nodes {
		switching.Go(func() { takeTurns(t, start, i, all[0][i], all[1][i]) })
	}
	switching.Wait()
	t.Log(time.Since(start), "of switching")
	for k, g := range gangs {
		for i := range nodes {
			all[k][i].back(t)
		}
		g.stop.Store(true)
	}
	sum := [2]uint64{}
	for k, g := range gangs {
		g.done.Wait()
		for i := range nodes {
			for other := range nodes {
				sum[k] += g.received[i][other]
			}
		}
	}
	var flushed, cut, held int
	for k := range all {
		for _, s := range all[k] {
			flushed, cut, held = flushed+s.flushed, cut+s.cut, held+s.held
		}
	}
	t.Log(time.Since(start), "in all")
	t.Log(fmt.Sprint(sum), "messages;", flushed, "flushed,", cut, "cut off,", held, "held")
	if flushed == 0 || sum[0] < 100 || sum[1] < 100 {
		t.Errorf("%d messages; %d flushed, %d cut off, %d held", sum, flushed, cut, held)
	}
}
