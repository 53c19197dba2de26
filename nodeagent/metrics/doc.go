// Package metrics holds an agent's counters, declared in one table, and serves them to Prometheus.
//
// Package switcher counts the events of switches on its own thread; its reports bring them here
// once a second.
//
//	m := metrics.New("n1", func() metrics.Gauges { return metrics.Gauges{Jobs: 3} })
//	m.Add(metrics.Launches, 1)
//	http.Handle("/metrics", m.Handler())
package metrics
