package options

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Stage selects the files that are copied to the nodes with the job.
type Stage uint8

const (
	// StageNone: the nodes have the program.
	StageNone Stage = iota
	// StageProgram: the program alone.
	StageProgram
	// StageUsual: and the libraries it needs that are not the system's.
	StageUsual
	// StageAll: and the system's, but for the C library.
	StageAll
)

func parseStage(text string) (Stage, error) {
	switch text {
	case "usual":
		return StageUsual, nil
	case "program":
		return StageProgram, nil
	case "all":
		return StageAll, nil
	case "none":
		return StageNone, nil
	default:
		return 0, errors.New("it is usual (the program and its libraries except the system's), program, all or none")
	}
}

// parseStageFile adds a file to copy. The flag may be repeated.
func (o *Options) parseStageFile(path string) (string, error) {
	name := filepath.Base(path)
	if path == "" || strings.HasSuffix(path, "/") || name == "." || name == ".." || name == "lib" {
		return "", fmt.Errorf("%q is not the name of a file that can be staged", path)
	}
	o.StageFiles = append(o.StageFiles, path)
	return path, nil
}

// Stages reports whether any file is copied to the nodes.
func (o *Options) Stages() bool { return o.Stage != StageNone || len(o.StageFiles) > 0 }
