//go:build race

package nodeagent_test

// raceDetector says that memory is no measure: the detector takes its own.
const raceDetector = true
