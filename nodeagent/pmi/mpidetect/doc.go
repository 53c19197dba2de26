// Package mpidetect determines what kind of parallel program a file is, from the libraries that it
// names and the machine that it is built for. The result chooses the interfaces that ranks are
// offered, and is the source of two sentences to users: "this program is built for another
// machine", before anything is started, and "this looks like an MPI program, but no rank has spoken
// PMI", if it was linked with an MPI that the launcher does not serve.
//
// It reads a few kilobytes of a file and does not trust them: every offset and count is bounded. It
// runs nothing. Inspect looks at the file alone; Follow also looks at the libraries that the loader
// would find, since an MPI may come in through another library.
//
//	report, err := mpidetect.Inspect(path)
//	if err == nil && !report.Runs(runtime.GOARCH) { ... }
//	if report.Family.Parallel() { ... }
package mpidetect
