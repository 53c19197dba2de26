package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/nodeagent"
	"score/pm"
	"score/scored/api/scorev1"
	"strconv"
)

// exchangeRank as the first argument makes this program a rank that exchanges
// messages with all others until it is killed; with as many to each in flight as the
// second says, or with flood as many as go.
const (
	exchangeRank = "exchange-rank"
	flood        = "flood"
)

// traffic of the gangs that take turns.
type traffic struct {
	name, window string
	scarce       bool // their channels do not fit the nodes together, so that each leaves with its gang
	median, p99  target
}

var traffics = []traffic{
	{"netswitch", "8", false, atMost("value", stayTarget), atMost("value", stayTail)},
	{"netswitch_flood", flood, false, noTarget(), noTarget()},
	{"netswitch_scarce", "8", true, atMost("value", netswitchTarget), atMost("value", netswitchTail)},
	{"netswitch_scarce_flood", flood, true, noTarget(), noTarget()},
}

// asked are scrun's options for a job of one rank on each node.
func asked(scarce bool) []string {
	if scarce {
		return []string{"--channels", strconv.Itoa(nodeagent.DefaultChannels/2 + 1)}
	}
	return nil
}

// wholeSwitches lets two gangs, which exchange messages all the time, share two nodes.
func wholeSwitches(ctx context.Context, b *bench, of traffic) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2, slice: switchSlice})
	if err != nil {
		return err
	}
	defer c.stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	m, err := c.switches(ctx, append(asked(of.scarce), self, exchangeRank, of.window)...)
	if err != nil {
		return err
	}
	return reportNetswitches(b, of, m)
}

func reportNetswitches(b *bench, of traffic, m *scorev1.SwitchMetricsResponse) error {
	all := m.GetToRunning()
	if all.GetCount() == 0 {
		return fmt.Errorf("no switch was recorded: %w", errNaN)
	}
	b.single(of.name+"_count", float64(all.GetCount()), "switches", noTarget())
	b.single(of.name+"_planned_to_running_median", micros(all.GetMedianNanos()), "us", of.median)
	b.single(of.name+"_planned_to_running_p99", micros(all.GetP99Nanos()), "us", of.p99)
	b.single(of.name+"_planned_to_running_max", micros(all.GetMaxNanos()), "us", noTarget())
	for _, g := range m.GetGroups() {
		if g.GetJobId() != 0 {
			continue
		}
		for _, s := range g.GetSteps() {
			if s.GetCount() > 0 {
				b.single(fmt.Sprintf("%s_step_%s_%s_median", of.name, g.GetNode(), s.GetStep()), micros(s.GetMedianNanos()), "us", noTarget())
			}
		}
		f := g.GetFlushes()
		if left := f.GetClean() + f.GetCutOff(); of.scarce != (left > 0) {
			return fmt.Errorf("%s: channels left the network %d times", of.name, left)
		}
		b.single(fmt.Sprintf("%s_%s_flushes_clean", of.name, g.GetNode()), float64(f.GetClean()), "contexts", noTarget())
		b.single(fmt.Sprintf("%s_%s_flushes_cut_off", of.name, g.GetNode()), float64(f.GetCutOff()), "contexts", noTarget())
		b.single(fmt.Sprintf("%s_%s_held", of.name, g.GetNode()), float64(f.GetHeld()), "contexts", noTarget())
	}
	return nil
}

// exchange is the rank's program: it sends to all others, takes what they sent, and so on.
func exchange(window string) error {
	c, err := pm.Open(1)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(window)
	message := make([]byte, netswitchMessage)
	for ahead := 0; ; {
		for to := range c.Size() {
			if to == c.Rank() || n > 0 && ahead >= n*(c.Size()-1) {
				continue
			}
			err := c.SendBytes(to, message)
			if err != nil && !errors.Is(err, pm.ErrFull) {
				return err
			}
			if err == nil {
				ahead++
			}
		}
		for {
			m, err := c.Receive()
			if errors.Is(err, pm.ErrEmpty) {
				break
			}
			if err != nil {
				return err
			}
			ahead--
			if err := c.ReleaseReceiveBuffer(m); err != nil {
				return err
			}
		}
	}
}
