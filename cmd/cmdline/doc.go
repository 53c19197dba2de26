// Package cmdline parses values that users type on command lines and in configuration files:
// counts, times, amounts of memory, signals and lists of nodes, in Slurm's forms. Its errors are
// sentences for users.
package cmdline
