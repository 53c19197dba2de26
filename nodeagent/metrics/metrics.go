package metrics

import (
	"net/http"
	"regexp"
	"score/ctxswitch"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics holds the metrics of one agent and its process: memory, descriptors, goroutines. Its
// methods may be called concurrently.
type Metrics struct {
	registry *prometheus.Registry
	gauges   func() Gauges
	counters [idCount]atomic.Uint64

	mu    sync.Mutex
	steps ctxswitch.Measures

	descriptions []*prometheus.Desc // of Table, then of gaugeTable, then of the steps
}

// stepQuantiles lists the quantiles that are shown for every step.
var stepQuantiles = []float64{0.5, 0.9, 0.99, 1}

// liveHeap adds the heap in use at the end of the last collection, without garbage: growth there is
// a leak.
var liveHeap = collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{
	Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`),
})

// New returns the metrics of a node. gauges is called at each scrape, and may set counters.
func New(node string, gauges func() Gauges) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), gauges: gauges}
	labels := prometheus.Labels{"node": node}
	for _, info := range Table {
		var variable []string
		if info.Kind != "" {
			variable = []string{"kind"}
		}
		m.descriptions = append(m.descriptions, prometheus.NewDesc(info.Name, info.Meaning, variable, labels))
	}
	for _, info := range gaugeTable {
		m.descriptions = append(m.descriptions, prometheus.NewDesc(info.name, info.meaning, nil, labels))
	}
	m.descriptions = append(m.descriptions, prometheus.NewDesc("score_agent_switch_step_seconds",
		"How long the steps of a switch took; wake and total count from the planned instant.", []string{"step"}, labels))
	m.registry.MustRegister(m)
	prometheus.WrapRegistererWith(labels, m.registry).MustRegister(
		collectors.NewGoCollector(liveHeap), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Add adds n to a counter.
func (m *Metrics) Add(id ID, n uint64) { m.counters[id].Add(n) }

// Set sets a counter that is counted elsewhere; it must never decrease.
func (m *Metrics) Set(id ID, n uint64) { m.counters[id].Store(n) }

// Count returns the present value of a counter.
func (m *Metrics) Count(id ID) uint64 { return m.counters[id].Load() }

// AddSteps adds measurements of switches.
func (m *Metrics) AddSteps(steps *ctxswitch.Measures) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range steps {
		m.steps[i].Merge(&steps[i])
	}
}

// Handler serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range m.descriptions {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	descriptions, gauges := m.descriptions, m.gauges()
	for i, info := range Table {
		var labels []string
		if info.Kind != "" {
			labels = []string{info.Kind}
		}
		out <- prometheus.MustNewConstMetric(descriptions[i], prometheus.CounterValue, float64(m.Count(info.ID)), labels...)
	}
	for i, info := range gaugeTable {
		out <- prometheus.MustNewConstMetric(descriptions[int(idCount)+i], prometheus.GaugeValue, info.value(gauges))
	}
	m.collectSteps(descriptions[len(descriptions)-1], out)
}

func (m *Metrics) collectSteps(description *prometheus.Desc, out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, info := range ctxswitch.MeasureTable {
		h := &m.steps[i]
		quantiles := make(map[float64]float64, len(stepQuantiles))
		for _, q := range stepQuantiles {
			quantiles[q] = h.Quantile(q).Seconds()
		}
		sum := float64(h.Sum()) / float64(time.Second)
		out <- prometheus.MustNewConstSummary(description, h.Count(), sum, quantiles, info.Name)
	}
}
