package leader

import (
	"context"
	"net"
	"score/gang"
	"slices"
)

// maxCarrierCPUs is the largest number of CPUs that the daemons and scrun use at once to forward
// one job's output. A host with that many spare CPUs beside the gangs of a row forwards it without
// cost to others.
const maxCarrierCPUs = 3

// Host is a host that forwards a job's output.
type Host struct {
	Name string // as in nodes' addresses, or its alias
	CPUs int    // 0: as many as its nodes have together
}

// Contended returns the hosts on which other users' gangs have CPUs while the job is on, so that
// forwarding its output takes CPU time from them. In slices without such gangs the job or its user
// pays for the output.
func (a *Attachment) Contended(ctx context.Context, job uint64, hosts []Host, alias func(host string) string) ([]Host, error) {
	return atOnce(ctx, a.leader, func(c *controller) ([]Host, error) {
		if j := c.jobs[job]; j != nil {
			return c.contended(j, hosts, alias), nil
		}
		return nil, nil
	})
}

// contended compares each host's CPUs with those that other users' gangs have there, in the fullest
// of the job's rows.
func (c *controller) contended(j *job, hosts []Host, alias func(host string) string) (found []Host) {
	taken := make(map[string]int)
	for i := range c.rotation.Rows {
		row := &c.rotation.Rows[i]
		if id := gang.JobID(j.id); !slices.Contains(row.Jobs, id) && !slices.Contains(row.Asleep, id) {
			continue
		}
		for host, count := range c.takenBeside(j, row.Jobs, alias) {
			taken[host] = max(taken[host], count)
		}
	}
	for _, host := range hosts {
		if taken[host.Name] == 0 {
			continue
		}
		cpus := c.cpusOf(host.Name, alias)
		if host.CPUs == 0 || host.CPUs > cpus {
			host.CPUs = cpus
		}
		if host.CPUs-taken[host.Name] < maxCarrierCPUs {
			found = append(found, host)
		}
	}
	return found
}

// takenBeside counts the CPUs of each host that other users' jobs of a row have.
func (c *controller) takenBeside(j *job, row []gang.JobID, alias func(host string) string) map[string]int {
	taken := make(map[string]int)
	for _, id := range row {
		other := c.jobs[uint64(id)]
		if other == nil || other.user.GetUid() == j.user.GetUid() {
			continue
		}
		for _, p := range other.parts {
			if n := c.nodes[p.Node]; n != nil {
				taken[alias(hostOf(n.address))] += len(p.CPUs)
			}
		}
	}
	return taken
}

// cpusOf counts the CPUs of a host's nodes.
func (c *controller) cpusOf(host string, alias func(host string) string) (cpus int) {
	for _, n := range c.nodes {
		if alias(hostOf(n.address)) == host {
			cpus += int(n.cpus)
		}
	}
	return cpus
}

// hostOf returns the host of an address, host:port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
