package fabric

import (
	"errors"
	"fmt"
)

// Wish is the value of --fabric.
type Wish uint8

const (
	// Auto means that Choose decides.
	Auto Wish = iota
	// PM requests channels.
	PM
	// None leaves programs the networks of their own libraries.
	None
)

// ParseWish reads the value of --fabric.
func ParseWish(text string) (Wish, error) {
	switch text {
	case "auto":
		return Auto, nil
	case "pm":
		return PM, nil
	case "none":
		return None, nil
	default:
		return Auto, errors.New("it is pm (channels), none (the network of the program's own library), or auto")
	}
}

// Request holds all facts on which a choice depends.
type Request struct {
	Wish    Wish
	Program Program
	Nodes   int // of the job; 0: unknown
	// Chosen is the variable or parameter by which the user has chosen a network of MPI, if any.
	Chosen string
	// ChosenProvider is the variable by which the user has chosen a network of libfabric, if any.
	ChosenProvider string
	// NoChannels: the user has set --channels 0.
	NoChannels bool
	// OwnLibfabric: LD_LIBRARY_PATH has a libfabric of the user's own, which loads the provider.
	OwnLibfabric bool
	// AddressSpace is the limit on each rank's address space in bytes; 0: none.
	AddressSpace uint64
}

// Undecided reports whether the choice depends on the number of nodes while that is unknown.
func (r Request) Undecided() bool {
	if r.Wish != Auto || r.Nodes != 0 || r.Program.Kind.alone() {
		return false
	}
	r.Nodes = 2
	choice, err := Choose(r)
	return err == nil && choice.Use
}

// leastAddressSpace is the address space that the library and its Go runtime reserve, with room for
// the program. The library itself refuses to start with less than a part of it.
const leastAddressSpace = 4 << 30

// Choice is the decision whether channels are used. -v prints the reason Why, which is empty if
// there was nothing to choose.
type Choice struct {
	Use bool
	// IfAble leaves the decision to Open MPI: it is unknown whether the programs that an
	// interpreter starts have a component for libfabric.
	IfAble bool
	Why    string
}

// ErrProgram means that a program cannot use the channels that its user asks for.
var ErrProgram = errors.New("--fabric pm")

// Choose decides whether channels are used. Auto selects channels for programs without another
// network, and between nodes, where they were measured to be faster than Open MPI's own network.
// The error wraps ErrProgram.
func Choose(r Request) (Choice, error) {
	p := r.Program
	switch r.Wish {
	case None:
		return Choice{Why: "--fabric none"}, nil
	case PM:
		if why := p.refusal(); why != "" && (p.Kind != Newer || !r.OwnLibfabric) {
			return Choice{}, fmt.Errorf("%w: %s", ErrProgram, why)
		}
		return Choice{Use: true, Why: "--fabric pm, and " + p.describe()}, nil
	case Auto:
	}
	switch {
	case p.Kind == Unknown:
		return Choice{}, nil
	case p.Kind == MPICH || p.Kind == EmbeddedMPICH || p.Kind == Libfabric:
		return Choice{Why: p.describe() + "; --fabric pm has it use them"}, nil
	case !p.Kind.chosenByAuto():
		return Choice{Why: p.describe()}, nil
	case r.NoChannels:
		return Choice{Why: "--channels 0"}, nil
	case r.AddressSpace != 0 && r.AddressSpace < leastAddressSpace:
		return Choice{Why: "ulimit -v leaves a rank too little address space for them"}, nil
	case p.Kind == OpenSHMEM && r.ChosenProvider != "":
		return Choice{Why: r.ChosenProvider + " is set"}, nil
	case p.Kind.alone(): // inside a node, too
		return Choice{Use: true, Why: "--fabric auto, and " + p.describe()}, nil
	case p.Container != "": // what it starts would fail where the container does not have the libraries
		return Choice{Why: p.Container + " starts a container; --fabric pm has programs in it use them"}, nil
	case r.Nodes < 2:
		return Choice{Why: "inside a node MPI has shared memory of its own"}, nil
	case r.Chosen != "":
		return Choice{Why: r.Chosen + " is set"}, nil
	default:
		return Choice{Use: true, IfAble: p.Kind == Interpreter, Why: "--fabric auto, several nodes, and " + p.describe()}, nil
	}
}
