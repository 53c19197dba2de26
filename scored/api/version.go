// Package api holds what servers, agents and users' programs agree on: the
// protobuf messages and services (package scorev1) and the version they must
// share. It knows no machine and does no I/O.
package api

import "runtime/debug"

// version is set by the build (-ldflags -X).
var version string

// Version names the build. Servers refuse agents of another version, since
// the two exchange messages that are not yet frozen.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
