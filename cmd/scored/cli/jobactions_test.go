package cli

import (
	"score/scored/client/clienttest"
	"slices"
	"testing"
)

// Of jobs that are cancelled together none is started by the end of another.
func TestTheLatestJobIsCancelledFirst(t *testing.T) {
	var got []uint64
	socket := clienttest.Serve(t, clienttest.Daemon{Cancel: func(id uint64) error {
		got = append(got, id) // the command waits for each answer
		return nil
	}})
	if code, _, errs := scored(socket, "job", "cancel", "7", "9", "8"); code != 0 {
		t.Fatalf("exit code %d, %q", code, errs)
	}
	if want := []uint64{9, 8, 7}; !slices.Equal(got, want) {
		t.Errorf("jobs %v are cancelled in this order, want %v", got, want)
	}
}
