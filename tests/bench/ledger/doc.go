// Package ledger says which thread had a machine's CPUs, and for how long: it has the kernel trace
// each change of the running thread (tracefs, event sched_switch) and adds up what it wrote.
//
// Interrupts count to the thread that they interrupt.
package ledger
