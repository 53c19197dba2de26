package mpidetect

// Offers returns the interfaces that a launcher offers to a program of the family, unless the user
// chooses. Scripts, and programs that may run one, are offered both, since it is unknown what they
// start: each MPI uses its own, and no MPI in Debian is disturbed by the other. A static program
// may start others, too, as "uv run" and "busybox sh" do.
func (f Family) Offers() (pmi, pmix bool) {
	switch f {
	case MPICH, PMI2:
		return true, false
	case OpenMPI, PMIx:
		return false, true
	case None, StaticUnknown:
	}
	return true, true
}

// Describe returns words for what a program was built with.
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
