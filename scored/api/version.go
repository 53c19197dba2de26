package api

import (
	"runtime/debug"
	"sync"
)

// version is set by the build (-ldflags -X).
var version string

// Version names the build, for people. What programs understand of each other package protocol
// says.
func Version() string {
	if version != "" {
		return version
	}
	return moduleVersion()
}

// moduleVersion is what a build without -X knows of itself. It is read once:
// stewards tell it with every job.
var moduleVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
})
