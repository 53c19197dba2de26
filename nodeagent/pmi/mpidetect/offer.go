package mpidetect

// Offers returns the interfaces that a launcher offers to a program of the family, unless its user
// chooses. What a script, or a program that may run one, will start is unknown, so it is offered
// both: each MPI takes its own, and none in Debian is disturbed by the other. A static program is
// not Open MPI, which loads its parts.
func (f Family) Offers() (pmi, pmix bool) {
	switch f {
	case MPICH, PMI2, StaticUnknown:
		return true, false
	case OpenMPI, PMIx:
		return false, true
	case None:
	}
	return true, true
}

// Describe says in words what a program was built with.
func (f Family) Describe() string {
	switch f {
	case MPICH:
		return "was built with MPICH or a relative"
	case OpenMPI:
		return "was built with Open MPI"
	case PMIx:
		return "was built with PMIx"
	case PMI2:
		return "was built with a PMI library"
	case StaticUnknown:
		return "is static, so its MPI cannot be seen"
	case None:
	}
	return "shows no MPI"
}
