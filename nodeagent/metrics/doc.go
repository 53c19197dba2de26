// Package metrics has an agent's counters, declared in one table, and serves
// them to Prometheus.
//
// What is counted while a gang is switched is counted by package switcher, on
// its thread; it comes here with its reports, once a second.
//
//	m := metrics.New("n1", func() metrics.Gauges { return metrics.Gauges{Jobs: 3} })
//	m.Add(metrics.Launches, 1)
//	http.Handle("/metrics", m.Handler())
package metrics
