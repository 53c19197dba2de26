package metrics

import (
	"context"
	"net/http"
	"regexp"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// statsTimeout bounds how long a scrape waits for the leader. Without a leader its metrics are left
// out.
const statsTimeout = time.Second

// liveHeap adds the heap that was in use at the end of the last collection, without garbage: if it
// grows without end, memory leaks.
var liveHeap = collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{
	Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`),
})

// Sources are where the metrics come from.
type Sources struct {
	Stats    func(context.Context) (leader.Stats, error)
	Shares   func(context.Context) ([]leader.JobShares, error)
	Switches *Switches
}

// Set holds all metrics of one server, in a registry of its own.
type Set struct {
	sources  Sources
	registry *prometheus.Registry
	descs    map[string]*prometheus.Desc
	commits  prometheus.Histogram
	errors   *prometheus.CounterVec
}

// New returns a Set with all metrics of the table, and those of the process.
func New(sources Sources) *Set {
	s := &Set{sources: sources, registry: prometheus.NewRegistry(), descs: make(map[string]*prometheus.Desc)}
	for _, m := range Table {
		switch m.Name {
		case commitSeconds:
			s.commits = prometheus.NewHistogram(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: commitBuckets})
			s.registry.MustRegister(s.commits)
		case rpcErrors:
			s.errors = prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
			s.registry.MustRegister(s.errors)
		default:
			s.descs[m.Name] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
		}
	}
	s.registry.MustRegister((*collector)(s),
		collectors.NewGoCollector(liveHeap), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// Handler serves the metrics.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
}

// ObserveCommit counts a commit and how long it took.
func (s *Set) ObserveCommit(d time.Duration) { s.commits.Observe(d.Seconds()) }

// CountError counts a refused or failed call.
func (s *Set) CountError(procedure, code string) {
	s.errors.WithLabelValues(strings.TrimPrefix(procedure, "/"), code).Inc()
}

// collector derives metrics at the time of a scrape.
type collector Set

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	if stats, err := c.sources.Stats(ctx); err == nil {
		c.collectStats(out, stats)
	}
	if jobs, err := c.sources.Shares(ctx); err == nil {
		c.collectJobs(out, jobs)
	}
	c.collectSwitches(out, c.sources.Switches.Response(&scorev1.SwitchMetricsRequest{}))
}

func (c *collector) counter(out chan<- prometheus.Metric, name string, value uint64, labels ...string) {
	out <- prometheus.MustNewConstMetric(c.descs[name], prometheus.CounterValue, float64(value), labels...)
}

func (c *collector) gauge(out chan<- prometheus.Metric, name string, value int, labels ...string) {
	out <- prometheus.MustNewConstMetric(c.descs[name], prometheus.GaugeValue, float64(value), labels...)
}

func (c *collector) collectStats(out chan<- prometheus.Metric, stats leader.Stats) {
	for value, name := range scorev1.JobState_name {
		state := scorev1.JobState(value)
		if state == scorev1.JobState_JOB_STATE_UNSPECIFIED || state == scorev1.JobState_JOB_STATE_DONE {
			continue
		}
		c.gauge(out, jobs, stats.Jobs[state], shorten(name, "JOB_STATE_"))
	}
	for value, name := range scorev1.EndReason_name {
		if reason := scorev1.EndReason(value); reason != scorev1.EndReason_END_REASON_UNSPECIFIED {
			c.counter(out, jobsEnded, stats.Ended[reason], shorten(name, "END_REASON_"))
		}
	}
	c.gauge(out, jobsIdle, stats.Idle)
	c.gauge(out, jobsDeadlocked, stats.Deadlocked)
	c.gauge(out, jobsHeld, stats.Held)
	c.gauge(out, jobsDependent, stats.Dependent)
	c.counter(out, jobsSubmitted, stats.Submitted)
	c.counter(out, jobsLaunched, stats.Launches)
	c.counter(out, plans, stats.Plans)
	c.gauge(out, rotationRows, stats.Rows)
	c.gauge(out, nodesUp, stats.NodesUp)
}

func shorten(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

func (c *collector) collectSwitches(out chan<- prometheus.Metric, r *scorev1.SwitchMetricsResponse) {
	for _, group := range r.GetGroups() {
		if group.GetJobId() != 0 {
			continue // series by job would come and go; jobs have metrics of their own
		}
		for _, step := range group.GetSteps() {
			c.summary(out, switchSeconds, step, group.GetNode(), step.GetStep())
		}
		c.counter(out, flushes, group.GetFlushes().GetClean(), group.GetNode(), "clean")
		c.counter(out, flushes, group.GetFlushes().GetCutOff(), group.GetNode(), "cut_off")
		c.counter(out, flushes, group.GetFlushes().GetHeld(), group.GetNode(), "held")
	}
	c.summary(out, skewSeconds, r.GetSkew())
	c.summary(out, toRunningSeconds, r.GetToRunning())
	c.counter(out, missedBoundaries, r.GetMissedBoundaries())
	c.counter(out, lateFreezes, r.GetLateFreezes())
}

func (c *collector) summary(out chan<- prometheus.Metric, name string, t *scorev1.StepTimes, labels ...string) {
	seconds := func(nanos int64) float64 { return time.Duration(nanos).Seconds() }
	quantiles := map[float64]float64{median: seconds(t.GetMedianNanos()), high: seconds(t.GetP99Nanos()), 1: seconds(t.GetMaxNanos())}
	out <- prometheus.MustNewConstSummary(c.descs[name], t.GetCount(), seconds(t.GetSumNanos()), quantiles, labels...)
}
