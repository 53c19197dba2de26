//go:build race

package pm_test

// messages is how many messages the long tests exchange; the race detector makes each ten
// times slower.
const messages = 50_000
