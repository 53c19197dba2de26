//go:build !race

package pm_test

// messages is how many messages a rank sends in the long tests: a million in all.
const messages = 500_000
