// Package histogram counts durations in a fixed number of buckets with widths that grow with the
// duration (log-linear, as in HdrHistogram). Every quantile is exact to less than 3 percent for all
// durations, and recording one takes a few nanoseconds and no memory.
//
// It is for the steps of a switch, per node and per job: nodes report histograms and the server
// merges them. It is not for exact values of single switches, nor for durations above a minute.
// Read histogram.go first; encoding.go has the format of reports.
package histogram
