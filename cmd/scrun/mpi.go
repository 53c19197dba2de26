package main

import (
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/pmi/mpidetect"
	"score/scored/api/scorev1"
)

// noteMPI prints, with -v, the interface by which the ranks will connect to each other, judged by
// the program on this host. Each node decides for itself.
func noteMPI(messages messenger, spec *scorev1.JobSpec, path, libraryPath string) {
	if !messages.verbose {
		return
	}
	program, err := launch.Resolve(spec.GetArgv()[0], spec.GetWorkDir(), path, nil)
	if err != nil {
		return // the nodes may have the program
	}
	report, err := mpidetect.Follow(program, libraryPath)
	if err != nil {
		return
	}
	messages.note("%s %s: it gets %s", filepath.Base(program), report.Family.Describe(), offered(spec.GetMpi(), report.Family))
}

// offered returns the interface that a program is offered.
func offered(mode scorev1.MpiMode, found mpidetect.Family) string {
	pmi, pmix := found.Offers()
	switch mode {
	case scorev1.MpiMode_MPI_MODE_PMI:
		return "PMI"
	case scorev1.MpiMode_MPI_MODE_PMIX:
		return "PMIx"
	case scorev1.MpiMode_MPI_MODE_NONE:
		return "neither PMI nor PMIx"
	case scorev1.MpiMode_MPI_MODE_UNSPECIFIED:
	}
	switch {
	case pmi && pmix:
		return "PMI and PMIx"
	case pmix:
		return "PMIx"
	}
	return "PMI"
}
