package fabric

import (
	"errors"
	"fmt"
)

// Wish is what --fabric says.
type Wish uint8

const (
	// Auto leaves the choice to Choose.
	Auto Wish = iota
	// PM asks for channels.
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

// autoUsesPM has Auto choose channels for programs of Open MPI on several nodes. It is off until start
// and messages over channels are measured to be no slower there than over Open MPI's own TCP.
const autoUsesPM = false

// Request is what a choice depends on.
type Request struct {
	Wish    Wish
	Program Program
	Nodes   int // that the user asked for; 0: as few as hold the ranks
	// Chosen is the variable by which the user has chosen a network of Open MPI himself, if any.
	Chosen string
}

// Choice is whether channels are used, and the reason, which -v prints; none where nothing was to be
// chosen.
type Choice struct {
	Use bool
	Why string
}

// ErrProgram is a program that cannot use the channels that its user asks for.
var ErrProgram = errors.New("--fabric pm")

// Depends reports whether the choice depends on the program: else none needs to be looked at.
func (w Wish) Depends() bool { return w == PM || w == Auto && autoUsesPM }

// Choose decides. The error wraps ErrProgram.
func Choose(r Request) (Choice, error) { return choose(r, autoUsesPM) }

func choose(r Request, auto bool) (Choice, error) {
	p := r.Program
	switch r.Wish {
	case None:
		return Choice{Why: "--fabric none"}, nil
	case PM:
		if why := p.refusal(); why != "" {
			return Choice{}, fmt.Errorf("%w: %s", ErrProgram, why)
		}
		return Choice{true, "--fabric pm, and " + p.describe()}, nil
	case Auto:
	}
	switch {
	case p.Kind == Unknown:
		return Choice{}, nil
	case p.Kind != OpenMPI:
		return Choice{Why: p.describe()}, nil
	case !auto:
		return Choice{Why: "--fabric auto leaves MPI its own network; --fabric pm uses channels"}, nil
	case r.Nodes < 2:
		return Choice{Why: "inside a node MPI has shared memory of its own"}, nil
	case r.Chosen != "":
		return Choice{Why: r.Chosen + " is set"}, nil
	default:
		return Choice{true, "--fabric auto, several nodes, and " + p.describe()}, nil
	}
}
