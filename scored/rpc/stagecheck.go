package rpc

import (
	"fmt"
	"score/scored/api"
	"score/scored/api/scorev1"
	"strings"
)

// sumBytes is the length of a SHA-256 digest.
const sumBytes = 32

// checkStaged refuses files that cannot be staged.
func checkStaged(s *scorev1.JobSpec) error {
	if len(s.GetStaged()) == 0 {
		return nil
	}
	if err := checkText("the node with the job's files", s.GetStageSeed(), maxName); err != nil {
		return err
	}
	return checkStagedFiles(s.GetStaged())
}

func checkStagedFiles(files []*scorev1.StagedFile) error {
	if len(files) > api.MaxStagedFiles {
		return invalid("%d files cannot go along with a job; at most %d can", len(files), api.MaxStagedFiles)
	}
	total, programs, names := uint64(0), 0, make(map[string]bool)
	for _, f := range files {
		library := f.GetKind() == scorev1.StagedKind_STAGED_KIND_LIBRARY
		place := fmt.Sprintf("%v/%s", library, f.GetName())
		if err := checkPath("the name of a file that goes along", f.GetName(), maxName); err != nil {
			return err
		}
		switch {
		case f.GetName() == "" || f.GetName() == "." || f.GetName() == ".." || strings.Contains(f.GetName(), "/"):
			return invalid("%q is not a valid name for a staged file", clip(f.GetName()))
		case !library && f.GetName() == "lib":
			return invalid("a file that goes along cannot be called lib, where the libraries are; rename it")
		case names[place]:
			return invalid("two staged files are called %q; rename one", clip(f.GetName()))
		case len(f.GetSha256()) != sumBytes:
			return invalid("the digest of %q has %d bytes, not %d", clip(f.GetName()), len(f.GetSha256()), sumBytes)
		case f.GetSize() > api.MaxStagedBytes || total+f.GetSize() > api.MaxStagedBytes:
			return invalid("%v", api.ErrStagedBytes)
		case scorev1.StagedKind_name[int32(f.GetKind())] == "":
			return invalid("kind %d of a file is unknown", f.GetKind())
		}
		names[place] = true
		total += f.GetSize()
		if f.GetKind() == scorev1.StagedKind_STAGED_KIND_PROGRAM {
			programs++
		}
	}
	if programs > 1 {
		return invalid("%d programs go along, and a job executes one", programs)
	}
	return nil
}
