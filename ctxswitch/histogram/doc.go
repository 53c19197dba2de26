// Package histogram counts durations in a fixed number of buckets, whose width
// grows with the duration (log-linear, as in HdrHistogram): every quantile is
// exact to less than 3 percent, whatever the durations are, and recording one
// costs a few nanoseconds and no memory.
//
// It is for the steps of a switch, per node and per job; nodes report
// histograms and the server merges them. It is not for exact values of single
// switches, nor for anything longer than a minute.
package histogram
