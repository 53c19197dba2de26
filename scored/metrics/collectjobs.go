package metrics

import (
	"score/scored/api/scorev1"
	"score/scored/leader"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxJobSeries bounds the pairs of job and node in the metrics by job. These are some 10,000
// series, which a scrape of one second can carry. Older jobs come first.
const maxJobSeries = 256

func (c *collector) collectJobs(out chan<- prometheus.Metric, all []leader.JobShares) {
	shown, left := 0, 0
	for _, job := range all {
		for _, share := range job.Shares {
			if shown == maxJobSeries {
				left++
				continue
			}
			shown++
			c.collectShare(out, job.ID, share)
		}
	}
	c.gauge(out, jobsLeftOut, left)
}

func (c *collector) collectShare(out chan<- prometheus.Metric, id uint64, share *scorev1.NodeShare) {
	job, node, u := strconv.FormatUint(id, 10), share.GetNode(), share.GetUsage()
	c.seconds(out, jobRunSeconds, u.GetRunNanos(), job, node)
	c.seconds(out, jobSwitching, u.GetSwitchNanos(), job, node)
	c.counter(out, jobSlices, u.GetSlices(), job, node)
	c.counter(out, jobLateFreezes, u.GetLateFreezes(), job, node)
	if m := u.GetMessages(); m != nil {
		c.counter(out, jobMessages, m.GetSent(), job, node, "sent")
		c.counter(out, jobMessages, m.GetReceived(), job, node, "received")
		c.counter(out, jobMessageBytes, m.GetSentBytes(), job, node, "sent")
		c.counter(out, jobMessageBytes, m.GetReceivedBytes(), job, node, "received")
		c.counter(out, jobRefusals, m.GetFull(), job, node, "full")
		c.counter(out, jobRefusals, m.GetNacked(), job, node, "nacked")
		c.counter(out, jobResent, m.GetResent(), job, node)
		c.counter(out, jobCredits, m.GetCreditRequests(), job, node, "requested")
		c.counter(out, jobCredits, m.GetCreditsGranted(), job, node, "granted")
		c.collectTransports(out, m.GetTransports(), job, node)
	}
	steps, f := c.sources.Switches.Measures(id, node)
	for _, step := range steps {
		c.summary(out, jobSwitchSeconds, step, job, node, step.GetStep())
	}
	if f != nil {
		c.counter(out, jobFlushes, f.GetClean(), job, node, "clean")
		c.counter(out, jobFlushes, f.GetCutOff(), job, node, "cut_off")
		c.counter(out, jobFlushes, f.GetHeld(), job, node, "held")
	}
}

func (c *collector) collectTransports(out chan<- prometheus.Metric, t *scorev1.Transports, job, node string) {
	if t == nil {
		return
	}
	c.counter(out, jobLanes, t.GetLanes(), job, node, "opened")
	c.counter(out, jobLanes, t.GetLanesGivenBack(), job, node, "given_back")
	c.counter(out, jobOneSided, t.GetDirectOperations(), job, node, "direct")
	c.counter(out, jobOneSided, t.GetWindowsMapped(), job, node, "mapped")
	c.counter(out, jobLongBytes, t.GetCopiedBytes(), job, node, "copied")
	c.counter(out, jobLongBytes, t.GetStreamedBytes(), job, node, "streamed")
	c.counter(out, jobLongBytes, t.GetBulkBytes(), job, node, "bulk")
	c.counter(out, jobPiecesAgain, t.GetPiecesAgain(), job, node)
	c.counter(out, jobRendezvous, t.GetRendezvous(), job, node)
	c.counter(out, jobGivenUp, t.GetPeersGivenUp(), job, node)
	c.level(out, jobOpen, t.GetRendezvousOpen(), job, node)
	c.level(out, jobUnexpected, t.GetUnexpectedBytes(), job, node)
}

func (c *collector) level(out chan<- prometheus.Metric, name string, n uint64, labels ...string) {
	out <- prometheus.MustNewConstMetric(c.descs[name], prometheus.GaugeValue, float64(n), labels...)
}

func (c *collector) seconds(out chan<- prometheus.Metric, name string, nanos int64, labels ...string) {
	out <- prometheus.MustNewConstMetric(c.descs[name], prometheus.CounterValue, time.Duration(nanos).Seconds(), labels...)
}
