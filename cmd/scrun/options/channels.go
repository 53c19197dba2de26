package options

import (
	"fmt"
	"score/scored/api/environ"
	"strconv"
)

// maxChannels is the highest number of channels that a rank can open: package pm numbers them 1 to
// 15.
const maxChannels = 15

// Channels is the number of channels of package pm that a rank may open.
type Channels struct {
	PerRank uint32
	Given   bool // by the user; else the program decides
}

// parseChannels reads a number of channels, or auto.
func parseChannels(text string) (Channels, error) {
	if text == "auto" {
		return Channels{}, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > maxChannels {
		return Channels{}, fmt.Errorf("give a number from 0 to %d, or auto", maxChannels)
	}
	return Channels{PerRank: uint32(n), Given: true}, nil
}

// Where returns the directory and the PATH with which the nodes look for the program; the PATH is
// empty if there is none.
func (o *Options) Where(here Process) (dir, path string) {
	dir, err := here.directory(o.Dir)
	if err != nil {
		dir = "" // Spec says it
	}
	return dir, environ.Value(o.Export.Apply(here.Environ), "PATH")
}
