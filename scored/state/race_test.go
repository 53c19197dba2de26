//go:build race

package state

// raceEnabled makes the long test shorter: the race detector takes ten times as long.
const raceEnabled = true
