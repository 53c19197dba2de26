package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"score/channels"
	"score/channels/handover"
	"score/channels/link"
	"score/channels/node"
	"score/channels/rankmap"
	"score/pm"
	"time"
)

const (
	// saveTarget is for a context, whatever is in its buffers.
	saveTarget = 2.0 // microseconds
	// stayTarget and stayTail are the median and the 99th percentile of the time from the planned
	// instant to the last rank of the new gang running, with channels that need not be given up;
	// netswitchTarget and netswitchTail with channels that are flushed, saved and loaded.
	stayTarget      = 35.0 // microseconds
	stayTail        = 150.0
	netswitchTarget = 120.0
	netswitchTail   = 500.0
	// saves is how often each row of the table is measured.
	saves = 400
	// netswitchMessage is as long as one of the paper's, which had 24 bytes in 12 KB for 511.
	netswitchMessage = 24
	// paperSend and paperReceive are the paper's full buffers, in messages.
	paperSend, paperReceive = 511, 2730
)

// netswitchGroup measures what it costs to take channels from the network, and what that makes
// of programs which take turns.
func netswitchGroup(ctx context.Context, b *bench) error {
	if err := saveTable(b); err != nil {
		return err
	}
	for _, t := range traffics {
		if err := wholeSwitches(ctx, b, t); err != nil {
			return err
		}
	}
	if err := overheadOfSwitching(ctx, b); err != nil {
		return err
	}
	return uninvolvedJob(ctx, b)
}

// fill says how many messages lie in the buffers of a context.
type fill struct {
	name          string
	send, receive int // -1: as many as fit
}

var fills = []fill{
	{"empty", 0, 0},
	{"send_paper", paperSend, 0},
	{"receive_paper", 0, paperReceive},
	{"both_paper", paperSend, paperReceive},
	{"send_full", -1, 0},
	{"receive_full", 0, -1},
	{"both_full", -1, -1},
}

// saveTable is the paper's, of two ranks on two nodes of this process.
func saveTable(b *bench) error {
	for _, f := range fills {
		times, err := savesOf(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		for _, s := range []struct {
			step node.Step
			name string
		}{{node.StepSave, "save"}, {node.StepLoad, "load"}} {
			took := median(times[s.step])
			name := "netswitch_" + s.name + "_" + f.name
			b.single(name, took, "us", atMost("value", saveTarget))
		}
	}
	return nil
}

// savesOf measures save and load of one filled context, in microseconds.
func savesOf(f fill) (times map[node.Step][]float64, err error) {
	p, err := newSwitchedPair()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.fill(f); err != nil {
		return nil, err
	}
	times = map[node.Step][]float64{}
	for range saves {
		for step := node.StepRevoke; step <= node.StepLoad; step++ {
			took, err := p.step(step)
			if err != nil {
				return nil, err
			}
			times[step] = append(times[step], float64(took.Nanoseconds())/1e3)
		}
	}
	return times, nil
}

// switchedPair is a job of two ranks on two nodes. The first node is switched.
type switchedPair struct {
	nodes    []*node.Node
	ranks    []*pm.Process
	channels []*pm.Channel
	job      *node.Job
	second   *node.Job
	outcomes chan node.Outcome
	number   uint64
}

func newSwitchedPair() (_ *switchedPair, err error) {
	p := &switchedPair{outcomes: make(chan node.Outcome, 16)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	var directories []link.Address
	for range 2 {
		n, err := node.Open(node.Config{Address: netip.MustParseAddrPort("127.0.0.1:0")})
		if err != nil {
			return nil, err
		}
		p.nodes, directories = append(p.nodes, n), append(directories, link.AddressOf(n.Directory()))
	}
	for i := range p.nodes {
		if err := p.join(i, directories); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *switchedPair) join(i int, directories []link.Address) error {
	where, err := rankmap.New(uint32(i), directories, []uint32{0, 1})
	if err != nil {
		return err
	}
	config := node.JobConfig{Key: 1, Places: where}
	if i == 0 {
		config.Done = func(o node.Outcome) { p.outcomes <- o }
	}
	job, err := p.nodes[i].Add(config)
	if err != nil {
		return err
	}
	if p.second = job; i == 0 {
		p.job = job
	}
	server, socket, err := handover.Pair()
	if err != nil {
		return err
	}
	if err := job.Serve(server, uint32(i)); err != nil {
		return errors.Join(err, socket.Close())
	}
	rank, err := pm.Join(socket, pm.DefaultSettings())
	if err != nil {
		return err
	}
	p.ranks = append(p.ranks, rank)
	c, err := rank.Open(1)
	p.channels = append(p.channels, c)
	return err
}

func (p *switchedPair) close() (err error) {
	for _, r := range p.ranks {
		err = errors.Join(err, r.Close())
	}
	for _, n := range p.nodes {
		err = errors.Join(err, n.Close())
	}
	return err
}

// fill fills the first rank's buffers. The second takes nothing, and is away when the first sends,
// so that all that stays with it.
func (p *switchedPair) fill(f fill) error {
	if err := p.send(1, f.receive); err != nil {
		return err
	}
	p.second.Order(node.StepSave, 1, 0)
	for !p.second.Contexts()[0].Away {
		time.Sleep(time.Millisecond)
	}
	return p.send(0, f.send)
}

// send sends count messages from one rank to the other, or as many as it takes.
func (p *switchedPair) send(from, count int) error {
	message := make([]byte, netswitchMessage)
	const quiet = 200 * time.Millisecond // nothing more is taken
	for last := time.Now(); count != 0 && time.Since(last) < quiet; {
		err := p.channels[from].SendBytes(1-from, message)
		switch {
		case err == nil:
			last, count = time.Now(), count-1
		case errors.Is(err, pm.ErrFull):
			p.channels[from].Poll()
		default:
			return err
		}
	}
	return nil
}

// step has the first node do a step, and says how long that took.
func (p *switchedPair) step(step node.Step) (time.Duration, error) {
	p.number++
	o, over := p.job.Order(step, p.number, channels.Nanos()+int64(time.Second))
	if !over {
		o = <-p.outcomes
	}
	if o.Step != step || o.Contexts != 1 || o.Held != 0 {
		return 0, fmt.Errorf("an unexpected end of a step: %+v", o)
	}
	return o.Took, nil
}
