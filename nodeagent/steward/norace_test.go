//go:build !race

package steward_test

// maxResident bounds the memory of a steward under a flood, far below what went through it.
const maxResident = 40 << 20
