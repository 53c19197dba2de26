// Package streams tests the standard input and output of jobs through all daemons that carry them:
// streams that stand still, in either direction, cost nobody else anything, and end with their
// scrun; and each byte comes once, whatever daemon on the way is lost. A flood takes next to
// nothing from a neighbour that computes.
package streams
