package fabric

import (
	"io"
	"os"
	"score/nodeagent/pmi/mpidetect"
	"strings"
)

// An MPICH that was configured without an installed libfabric compiles its own copy into the MPI
// library, which then needs no libfabric.so.1. These texts show the copy.
const (
	// loadingMark is the name of the function that libfabric calls in a provider that it loads. A
	// libfabric configured without dlopen loads no provider and does not contain the text.
	loadingMark = "fi_prov_ini\x00"
	// embeddedMark is the name of libfabric's first function, which the library exports. Any MPICH
	// has it also within a message, without the zero bytes.
	embeddedMark = "\x00fi_getinfo\x00"
)

// mpichKind returns the kind of an MPICH that needs neither libfabric nor UCX. It searches the MPI
// libraries.
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

// fileContains reports whether the first maxSearched bytes of the file contain the mark.
func fileContains(path, mark string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	found, err := contains(io.LimitReader(file, maxSearched), []byte(mark))
	return err == nil && found
}
