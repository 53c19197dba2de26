// Package cmdline reads values that users type on command lines and in configuration files: counts,
// times and amounts of memory, in Slurm's forms. Its errors are sentences for users.
package cmdline
