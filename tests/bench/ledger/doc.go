// Package ledger measures which threads use a machine's CPUs, and for how long: it has the kernel
// trace each change of the running thread (tracefs, event sched_switch) and adds the times up.
//
// Interrupts count to the thread that they interrupt.
package ledger
