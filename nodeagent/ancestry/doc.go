// Package lineage tells from which process another one descends, by what /proc
// says: so a daemon finds out whether a process that speaks to it belongs to a
// job whose ranks it knows.
package ancestry
