package switcher

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"runtime"
	"score/channels/handover"
	"score/channels/link"
	"score/channels/node"
	"score/channels/rankmap"
	"score/ctxswitch"
	"score/pm"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gate is a container whose only process is a goroutine that passes it between any two operations.
type gate struct {
	shut, waits atomic.Bool
}

func (g *gate) Freeze() error { g.shut.Store(true); return nil }
func (g *gate) Thaw() error   { g.shut.Store(false); return nil }

func (g *gate) CPUTime() (time.Duration, error) { return 0, nil }

func (g *gate) WaitFrozen(time.Time) error {
	if g.waits.Load() {
		return nil
	}
	return errors.New("it runs")
}

func (g *gate) pass() {
	for g.shut.Load() {
		g.waits.Store(true)
		time.Sleep(50 * time.Microsecond)
	}
	g.waits.Store(false)
}

// member is a gang's rank on one node.
type member struct {
	gate
	t              *testing.T
	c              *pm.Channel
	sent, received atomic.Uint64
	peer           *member
	stop           *atomic.Bool
}

// run exchanges messages with the other rank until both have all after the stop.
func (m *member) run() {
	other := 1 - m.c.Rank()
	for !m.stop.Load() || m.received.Load() != m.peer.sent.Load() {
		m.pass()
		if !m.stop.Load() {
			err := m.c.SendBytes(other, numbered(m.c.Rank(), m.sent.Load()))
			if err == nil {
				m.sent.Add(1)
			} else if !errors.Is(err, pm.ErrFull) {
				m.t.Error(err)
				return
			}
		}
		got, err := m.c.Receive()
		if errors.Is(err, pm.ErrEmpty) {
			runtime.Gosched()
			continue
		}
		if err != nil {
			m.t.Error(err)
			return
		}
		data, err := got.Bytes()
		if err != nil {
			m.t.Error(err)
			return
		}
		if string(data) != string(numbered(other, m.received.Load())) {
			m.t.Errorf("message %d is another", m.received.Load())
		}
		m.received.Add(1)
		if err := m.c.ReleaseReceiveBuffer(got); err != nil {
			m.t.Error(err)
		}
	}
}

func numbered(from int, number uint64) []byte {
	message := make([]byte, 20+number*131%3000)
	binary.LittleEndian.PutUint64(message[4:], number)
	message[12] = byte(from)
	binary.LittleEndian.PutUint32(message, crc32.ChecksumIEEE(message[4:]))
	return message
}

// adapter is a job's Network.
type adapter struct{ job *node.Job }

func (a adapter) Order(step ctxswitch.Step, number uint64, by int64) (Flushes, bool) {
	steps := map[ctxswitch.Step]node.Step{
		ctxswitch.Revoke: node.StepRevoke, ctxswitch.Flush: node.StepFlush, ctxswitch.Save: node.StepSave, ctxswitch.Load: node.StepLoad,
	}
	o, over := a.job.Order(steps[step], number, by)
	return flushesOf(o), over
}

func (a adapter) Contexts() int { return 1 }
func (a adapter) Pause()        { a.job.Pause() }
func (a adapter) Resume()       { a.job.Resume() }

func flushesOf(o node.Outcome) Flushes {
	return Flushes{Clean: uint64(o.Flushed), CutOff: uint64(o.CutOff)}
}

// TestGangsTakeTurnsWithTheirNetwork: two gangs on two nodes, switched every 5 ms at moments that
// differ from node to node, while messages are on the way and some are lost. Everything arrives,
// once and in order.
func TestGangsTakeTurnsWithTheirNetwork(t *testing.T) {
	const slice, skew, turns = 5 * time.Millisecond, 300 * time.Microsecond, 100
	var switchers []*Switcher
	var nodes []*node.Node
	var directories []link.Address
	for range 2 {
		switchers = append(switchers, start(t))
		n, err := node.Open(node.Config{Address: netip.MustParseAddrPort("127.0.0.1:0"), Faults: link.Faults{Loss: 0.01, Seed: 7}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		nodes, directories = append(nodes, n), append(directories, link.AddressOf(n.Directory()))
	}
	var stop atomic.Bool
	var running sync.WaitGroup
	var all []*member
	for id := ctxswitch.JobID(1); id <= 2; id++ {
		gang := []*member{{t: t, stop: &stop}, {t: t, stop: &stop}}
		for i, m := range gang {
			m.peer = gang[1-i]
			m.shut.Store(true)
			launch := func() error { m.shut.Store(false); return nil }
			switchers[i].Add(Job{ID: id, Container: m, Launch: launch})
			m.c = joinGang(t, nodes[i], i, id, directories, switchers[i])
		}
		for _, m := range gang {
			running.Go(m.run)
		}
		all = append(all, gang...)
	}
	p := plan(1, slice, []ctxswitch.JobID{1}, []ctxswitch.JobID{2})
	for i, s := range switchers {
		s.Offset(1, int64(i)*skew.Nanoseconds())
		s.Plan(p)
		s.Launched(1)
		s.Launched(2)
	}
	reports := []*Report{NewReport(), NewReport()}
	var flushes Flushes
	for made := uint64(0); made < turns; {
		time.Sleep(slice)
		for i, s := range switchers {
			if !s.Collect(context.Background(), reports[i]) {
				t.Fatal("no report")
			}
			made += reports[i].Switches
			flushes.add(reports[i].Flushes)
		}
	}
	stop.Store(true) // the gangs go on taking turns until each has what was sent to it
	running.Wait()
	for i, m := range all {
		t.Logf("rank %d: %d messages", i, m.received.Load())
		if m.received.Load() == 0 {
			t.Errorf("rank %d got nothing", i)
		}
	}
	t.Logf("%+v", flushes)
	if flushes.Clean == 0 {
		t.Errorf("%+v", flushes)
	}
}

// joinGang makes a job of two nodes known to one of them, and opens the rank's channel.
func joinGang(t *testing.T, n *node.Node, i int, id ctxswitch.JobID, directories []link.Address, s *Switcher) *pm.Channel {
	t.Helper()
	where, err := rankmap.New(uint32(i), directories, []uint32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	job, err := n.Add(node.JobConfig{
		Key: uint64(id), Places: where,
		Connected: func(j *node.Job) { s.Connected(id, adapter{j}) },
		Done: func(o node.Outcome) {
			step := map[node.Step]ctxswitch.Step{
				node.StepRevoke: ctxswitch.Revoke, node.StepFlush: ctxswitch.Flush, node.StepSave: ctxswitch.Save, node.StepLoad: ctxswitch.Load,
			}[o.Step]
			s.Stepped(id, step, o.Number, flushesOf(o))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server, socket, err := handover.Pair()
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Serve(server, uint32(i)); err != nil {
		t.Fatal(err)
	}
	process, err := pm.Join(socket, pm.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Close() })
	c, err := process.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
