// Package mpidetect finds out what kind of parallel program a file is, from the libraries it names
// and the machine it is built for. Two sentences to users need that: "this program is built for
// another machine", before anything is started, and "this looks like an MPI program, but no rank has
// spoken PMI", when it was linked with an MPI that the launcher does not serve.
//
// It reads a few kilobytes of the file and trusts nothing in it: every offset
// and count is bounded. It does not search library paths, so an MPI that comes
// in only through another library is not seen; nor does it run anything.
//
//	report, err := mpidetect.Inspect(path)
//	if err == nil && !report.Runs(runtime.GOARCH) { ... }
//	if report.Family.Parallel() { ... }
package mpidetect
