package api

import (
	"runtime/debug"
	"sync"
)

// version is set by the build (-ldflags -X).
var version string

// Version names the build, for people. Package protocol decides which programs understand each
// other.
func Version() string {
	if version != "" {
		return version
	}
	return moduleVersion()
}

// moduleVersion is the version that a build without -X knows. It is read
// once: stewards report it with every job.
var moduleVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
})
