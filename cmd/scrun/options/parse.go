package options

import (
	"errors"
	"fmt"
	"score/cmd/cmdline"
	"score/scored/api"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
)

func parseDistribution(text string) (scorev1.Distribution, error) {
	switch strings.ToLower(text) {
	case "block":
		return scorev1.Distribution_DISTRIBUTION_BLOCK, nil
	case "cyclic":
		return scorev1.Distribution_DISTRIBUTION_CYCLIC, nil
	default:
		return 0, errors.New("it is block or cyclic")
	}
}

func parseExcluded(text string) ([]string, error) {
	if strings.Contains(text, "=") {
		return nil, errors.New("it is a list of nodes; " + variables) // -x of mpirun sets variables
	}
	return cmdline.ParseNodes(text)
}

func parseRespawn(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > api.MaxRespawns {
		return 0, fmt.Errorf("it is a number from 0 to %d", api.MaxRespawns)
	}
	return uint32(n), nil
}

func parseExchange(text string) (scorev1.ExchangeMode, error) {
	switch text {
	case "auto":
		return scorev1.ExchangeMode_EXCHANGE_MODE_UNSPECIFIED, nil
	case "tree":
		return scorev1.ExchangeMode_EXCHANGE_MODE_TREE, nil
	case "ring":
		return scorev1.ExchangeMode_EXCHANGE_MODE_RING, nil
	case "bruck":
		return scorev1.ExchangeMode_EXCHANGE_MODE_BRUCK, nil
	default:
		return 0, errors.New("it is auto, tree, ring or bruck")
	}
}

func parseMPI(text string) (scorev1.MpiMode, error) {
	switch text {
	case "pmi2", "pmi1", "pmi":
		return scorev1.MpiMode_MPI_MODE_PMI, nil
	case "pmix":
		return scorev1.MpiMode_MPI_MODE_PMIX, nil
	case "none":
		return scorev1.MpiMode_MPI_MODE_NONE, nil
	default:
		return 0, fmt.Errorf("it is pmix (Open MPI speaks it), pmi, pmi2 or pmi1 (MPICH and its relatives), or none")
	}
}
