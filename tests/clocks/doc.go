// Package clocks tests what becomes of a real cluster when the clocks of its hosts are stepped by
// an hour, or are years off. Each daemon, and what it starts, has a clock of its own (package
// hostclock).
package clocks
