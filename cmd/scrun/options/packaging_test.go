package options

import (
	"score/cmd/manpage"
	"score/tests/pinned"
	"testing"
)

// environment is a section of the manual page.
const environment = `scrun reads:

  SCORE_SOCKET         the cluster's socket, as --cluster
  SCORE_FABRIC_DIR     the directory of the libraries for --fabric

Each rank has, beside what its process management interface gives it:

  SCORE_JOB_ID         the job's number
  SCORE_RANK           the rank's number, from 0
  SCORE_SIZE           how many ranks the job has
  SCORE_LOCAL_RANK     the rank's number among those of the job on its node, from 0
  SCORE_LOCAL_SIZE     how many ranks the job has on the node
  SCORE_NODE           the node's name
  SCORE_NODE_INDEX     the node's number among those of the job, from 0
  SCORE_NODES          how many nodes the job has
  SCORE_JOB_DIR        a directory of the job on the node, removed at its end
  SCORE_ARRAY_INDEX    the job's index in its array (--array)
  SCORE_RESTART_COUNT  how often the job was restarted (--requeue)
  SCORE_INCARNATION    how often the rank was restarted (--respawn)`

// TestPackagingIsUpToDate pins scrun's manual page and completions; -update writes them.
func TestPackagingIsUpToDate(t *testing.T) {
	scrun := Command(nil)
	scrun.InitDefaultHelpFlag()
	files, err := manpage.Completions(scrun)
	if err != nil {
		t.Fatal(err)
	}
	page := manpage.Page{
		Command: scrun, SeeAlso: []string{"scored", "scored-job", "scored-dev"},
		Extra: [][2]string{{"ENVIRONMENT", environment}, {"EXIT STATUS", exitCodes}},
	}
	files["man/"+page.Name()] = page.Render()
	for name, text := range files {
		pinned.File(t, "../../../packaging/"+name, text)
	}
}
