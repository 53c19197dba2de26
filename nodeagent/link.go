package nodeagent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/scored/api/scorev1"
	"strings"

	"go.uber.org/zap"
)

// errNoBearer means that the kernel's TIPC has no bearer, so its messages do not leave this host.
var errNoBearer = errors.New(
	`TIPC has no bearer, so that channels reach no other host: enable one as with "systemctl enable --now score-tipc@eth0" ` +
		`or "tipc bearer enable media eth device eth0"`)

// linkWord identifies the link for the leader, which compares and shows it. Nodes with different
// words do not reach each other.
func (a *Agent) linkWord() string {
	if a.options.Link != link.TIPC {
		return a.options.Link.String()
	}
	word := fmt.Sprintf("%v %d", a.options.Link, a.options.TIPCType)
	if id, err := tipc.Network(); err == nil && id != tipc.DefaultNetwork {
		word += fmt.Sprintf(" in network %d", id)
	}
	return word
}

// bearers returns the interfaces that carry TIPC now, if TIPC is the link.
func (a *Agent) bearers() []string {
	if a.options.Link != link.TIPC {
		return nil
	}
	bearers, err := tipc.Bearers()
	if err != nil {
		a.log.Warn("the bearers cannot be listed", zap.Error(err))
	}
	return bearers
}

// checkLink checks that the system supports the configured link to other nodes.
func (a *Agent) checkLink() error {
	if a.options.Link != link.TIPC {
		return nil
	}
	err := tipc.Check()
	if err == nil {
		_, err = tipc.Bearers()
	}
	if err != nil {
		return fmt.Errorf("agent.link: %w", err)
	}
	return nil
}

// linkProblems returns what is wrong with the link now, one sentence for each problem.
func (a *Agent) linkProblems() (sentences []string) {
	if a.options.Link != link.TIPC {
		return nil
	}
	bearers, err := tipc.Bearers()
	missing := err == nil && len(bearers) == 0 && a.options.Credentials != nil
	if missing {
		sentences = append(sentences, errNoBearer.Error())
	}
	a.logBearers(missing, bearers)
	return append(sentences, a.plane.Problems(a.unseenSentence)...)
}

// logBearers logs that the node has no bearer, and that it has one again.
func (a *Agent) logBearers(missing bool, bearers []string) {
	if a.noBearer.Swap(missing) == missing {
		return
	}
	if missing {
		a.log.Warn(errNoBearer.Error())
		return
	}
	a.log.Info("TIPC has a bearer again", zap.Strings("bearers", bearers))
}

// checkReach refuses a job with ranks on hosts that its channels cannot reach.
func (a *Agent) checkReach(places []*scorev1.NodePlace) error {
	if a.options.Link != link.TIPC || !onOtherHosts(a.address, places) {
		return nil
	}
	if bearers, err := tipc.Bearers(); err == nil && len(bearers) == 0 {
		return errNoBearer
	}
	return nil
}

// onOtherHosts reports whether some place is not on the host of the address own. All loopback
// addresses are one host.
func onOtherHosts(own string, places []*scorev1.NodePlace) bool {
	host := hostOf(own)
	for _, p := range places {
		if other := hostOf(p.GetAddress()); other != host && (!other.IsLoopback() || !host.IsLoopback()) {
			return true
		}
	}
	return false
}

// hostOf returns the host of an address; the zero Addr if it has none.
func hostOf(address string) netip.Addr {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return netip.Addr{}
	}
	at, _ := netip.ParseAddr(host) // zero
	return at
}

// onUnseen tells the user of a job that names of its nodes have not appeared.
func (a *Agent) onUnseen(job uint64, nodes []string) {
	sentence := a.unseenSentence(nodes)
	a.log.Warn("nodes of a job are not seen", zap.Uint64("job", job), zap.Strings("nodes", nodes))
	if j := a.jobs.Get(job); j != nil {
		j.Note(fmt.Sprintf("node %s: %s", a.options.Name, sentence))
	}
}

// unseenSentence explains to users what to do if names of nodes do not appear.
func (a *Agent) unseenSentence(nodes []string) string {
	return fmt.Sprintf("TIPC shows no names of node %s, so that channels do not reach it: give both bearers on one network "+
		`("tipc bearer list") and the same network id ("tipc node get netid")`, strings.Join(nodes, ", "))
}
