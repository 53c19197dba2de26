package daemons

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the programs that a cluster needs from this tree into a directory, so that
// the tests never run an older build.
func Build(dir string) error {
	for _, arguments := range [][]string{
		{"-o", dir + "/", "score/cmd/scored", "score/cmd/scrun"},
		{"-o", filepath.Join(dir, exchange), "score/examples/pm/exchange"},
	} {
		command := exec.Command("go", append([]string{"build"}, arguments...)...)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	return nil
}

// BuildProtocols builds scored and scrun into a directory, as a version that understands other
// protocols would: build is its name.
func BuildProtocols(dir, build string, oldest, newest int) error {
	flags := fmt.Sprintf("-X score/scored/api.version=%s -X score/scored/api/protocol.oldest=%d -X score/scored/api/protocol.newest=%d", build, oldest, newest)
	command := exec.Command("go", "build", "-ldflags", flags, "-o", dir+"/", "score/cmd/scored", "score/cmd/scrun")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
