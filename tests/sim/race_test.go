//go:build race

package sim

// raceEnabled makes the long tests shorter: the race detector takes ten times as
// long, and finds in a few worlds what it finds in all.
const raceEnabled = true
