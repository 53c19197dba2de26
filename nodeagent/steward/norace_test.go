//go:build !race

package steward_test

// residentMost bounds the memory of a steward under a flood, far below what went through it.
const residentMost = 40 << 20
