// Package fabric looks at unmodified programs of Open MPI that run by scrun --fabric pm, from
// outside: at the tables and counters that the kernel keeps of their processes and of the links of
// their nodes.
//
//   - While its gang is off, a job has no processor for any of its threads, and no packet of it is on
//     any link.
//   - While it is on, none of its ranks has a TCP connection to another one.
package fabric
