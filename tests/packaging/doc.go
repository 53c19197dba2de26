// Package packaging tries what a service manager and a package manager do with the programs: the
// daemons tell a manager how they are, the units are good, and the Debian package is installed,
// used, upgraded, removed and purged in a copy of this machine's file system that is thrown away.
package packaging
