// Package userfs opens and removes files at paths that a user has chosen. The caller
// acts as that user (launch.AsUser); the package sees to what permissions do not: no
// path leads into the daemon itself, and no tree exhausts it.
package userfs
