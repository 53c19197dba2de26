package steward

import (
	"fmt"
	"runtime"
	"score/nodeagent/launch"
	"score/nodeagent/pmi/mpidetect"
	"score/scored/api/scorev1"
)

// offer holds which protocols ranks may use with their steward.
type offer struct{ pmi, pmix bool }

// chooseOffer chooses the protocols to offer: those that the user names, else those that the
// program was linked with.
func (j *job) chooseOffer() {
	switch j.spec.GetMpi() {
	case scorev1.MpiMode_MPI_MODE_NONE:
		return
	case scorev1.MpiMode_MPI_MODE_PMI:
		j.offer.pmi = true
	case scorev1.MpiMode_MPI_MODE_PMIX:
		j.offer.pmix = true
	case scorev1.MpiMode_MPI_MODE_UNSPECIFIED:
		j.offer = offer{pmi: true, pmix: true}
	}
	found, ok := j.inspect()
	j.silent = ok && j.size() > 1 && found.Parallel()
	if j.spec.GetMpi() != scorev1.MpiMode_MPI_MODE_UNSPECIFIED || !ok {
		return
	}
	j.offer.pmi, j.offer.pmix = found.Offers()
}

// inspect returns what the program was linked with, and notes whether it uses hwloc and may read
// the description of the hardware; ok is false when the program cannot be read, or is made for
// another machine.
func (j *job) inspect() (found mpidetect.Family, ok bool) {
	var report mpidetect.Report
	err := launch.AsUser(j.user, func() (err error) {
		j.hardware = readable(j.order.GetHardware())
		libraryPath := j.variable("LD_LIBRARY_PATH")
		if report, err = mpidetect.Follow(j.program, libraryPath); err == nil && report.Family.Parallel() {
			j.hwloc = mpidetect.UsesHwloc(j.program, libraryPath)
		}
		return err
	})
	return report.Family, err == nil && report.Runs(runtime.GOARCH)
}

// hasFirst reports whether rank 0 is here. Only its node warns of silence, so that a job gets one
// warning, however many nodes it has.
func (j *job) hasFirst() bool {
	_, here := j.local[0]
	return here
}

// silence returns the warning that a program looks like MPI but has not asked for its rank.
func (j *job) silence() string {
	offered := "PMI and PMIx were"
	switch {
	case !j.offer.pmix:
		offered = "only PMI was"
	case !j.offer.pmi:
		offered = "only PMIx was"
	}
	return fmt.Sprintf("%s looks like an MPI program, but none of its ranks on node %s has asked for its rank: "+
		"each may believe to be rank 0 of 1; %s offered to it, see --mpi in 'scrun --help'", j.program, j.node, offered)
}
