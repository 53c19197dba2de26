// Package userfs opens and removes files at paths that a user has chosen. The caller acts as that
// user (launch.AsUser); the package adds what permissions do not ensure: no path leads into the
// daemon itself, and no tree exhausts it.
package userfs
