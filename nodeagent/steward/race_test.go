//go:build race

package steward_test

// maxResident bounds the memory of a steward under a flood. The race detector takes several
// times as much for its own books.
const maxResident = 160 << 20
