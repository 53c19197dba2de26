package options

import (
	"errors"
	"score/cmd/scrun/fabric"
)

// checkFabric checks --fabric with the options that it depends on.
func (o *Options) checkFabric() error {
	if o.Fabric == fabric.PM && o.Channels.Given && o.Channels.PerRank == 0 {
		return errors.New("--fabric pm needs a channel for each rank, and --channels 0 gives none")
	}
	return nil
}
