package fabric

import (
	"io"
	"os"
	"score/nodeagent/pmi/mpidetect"
	"strings"
)

// An MPICH whose configuration finds no libfabric compiles its own copy into the MPI library, which
// then needs no libfabric.so.1. The marks of that copy:
const (
	// loadingMark is the name of the function that libfabric looks for in a provider that it loads.
	// A libfabric that was configured without dlopen loads none, and has no such text.
	loadingMark = "fi_prov_ini\x00"
	// embeddedMark is the name of libfabric's first function, which the library exports. Messages
	// of any MPICH have it, too, in a sentence.
	embeddedMark = "\x00fi_getinfo\x00"
)

// mpichKind returns the kind of an MPICH that needs neither libfabric nor UCX, by the contents of
// its MPI libraries.
func mpichKind(libraries []mpidetect.Library) Kind {
	kind := OtherMPI
	for _, l := range libraries {
		if !strings.HasPrefix(l.Name, "libmpi") {
			continue
		}
		switch {
		case fileContains(l.Path, loadingMark):
			return EmbeddedMPICH
		case fileContains(l.Path, embeddedMark):
			kind = ClosedMPICH
		}
	}
	return kind
}

// fileContains reports whether the first maxSearched bytes of the file have the mark.
func fileContains(path, mark string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	found, err := contains(io.LimitReader(file, maxSearched), []byte(mark))
	return err == nil && found
}
