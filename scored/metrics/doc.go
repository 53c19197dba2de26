// Package metrics keeps the server's counters and the agents' measurements of switches. It serves
// them as Prometheus metrics and as the answer to SwitchMetrics.
//
// Every metric is declared in one table. The package measures nothing itself and decides nothing.
//
//	switches := metrics.NewSwitches()
//	set := metrics.New(metrics.Sources{Stats: l.Stats, Shares: l.Shares, Switches: switches})
//	http.Handle("/metrics", set.Handler())
package metrics
