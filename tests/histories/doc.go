// Package histories lets real clients work at once on a real cluster whose daemons are killed at
// named points, and checks the answers: the history of submissions, cancellations, looks and
// settings must be linearizable (https://github.com/anishathalye/porcupine), and every job that was
// acknowledged has run exactly once, or its end says why not. Jobs prove that they ran by a line
// that they append to a file.
package histories
