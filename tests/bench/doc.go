// Command bench measures the system beside its peers and prints each figure as
// one line:
//
//	figure NAME VALUE UNIT peer=VALUE|- ratio=R|- target=COND ok|short
//
// A value is the median of its runs; a ratio is the median of the ratios of
// alternating runs, since machines drift and the two sides of a pair drift
// together. Run it by `make bench`, or one group by `make bench ONLY=launch`.
package main
