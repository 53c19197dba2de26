// Package api holds what servers, agents and users' programs agree on: the
// protobuf messages and services (package scorev1) and the name of the build.
// It does no I/O.
package api
