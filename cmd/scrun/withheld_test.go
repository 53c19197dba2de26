package main

import (
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"strings"
	"testing"
)

// TestOlderServer: a server that does not know --hold and --dependency would run the job at once,
// and gets none.
func TestOlderServer(t *testing.T) {
	for version, want := range map[uint32]string{protocol.Holds: "7", protocol.First: ""} {
		submitted := false
		socket := clienttest.Serve(t, clienttest.Daemon{
			Version: func() *scorev1.GetVersionResponse { return &scorev1.GetVersionResponse{Protocol: version} },
			Submit: func(spec *scorev1.JobSpec) (uint64, error) {
				submitted = spec.GetHold() && len(spec.GetDependencies()) == 1
				return 7, nil
			},
		})
		code, out, errs := outcomeOf(t, scrun(t, socket, "-d", "-H", "--dependency", "afterany:3", "prog"))
		if strings.TrimSpace(out) != want || submitted != (want != "") || want == "" && (code != 125 || !strings.Contains(errs, "do not know --hold")) {
			t.Errorf("protocol %d: %d, %q, %q", version, code, out, errs)
		}
	}
}
