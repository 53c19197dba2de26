// Package hardware keeps a description of the host's hardware in a file, as hwloc's lstopo writes
// it. MPI libraries otherwise look at the hardware in each rank: caches, CPUs, and each device on
// the buses, which takes most of the CPU time of a rank's start. hwloc's documentation advises
// launchers to share a description ("How do I avoid memory waste and startup overhead when multiple
// hwloc processes simultaneously manipulate the topology?").
//
// The description is made when a job first wants it, since many agents never start an MPI program.
// Without lstopo there is none, and ranks look for themselves.
package hardware
