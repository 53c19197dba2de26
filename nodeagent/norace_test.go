//go:build !race

package nodeagent_test

const raceDetector = false
