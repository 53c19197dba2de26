// Package daemonstest gives tests programs built from this tree, and clusters of them
// that are stopped, and looked after, when the test ends.
package daemonstest
