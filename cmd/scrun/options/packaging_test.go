package options

import (
	"score/cmd/manpage"
	"score/tests/pinned"
	"testing"
)

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
		Extra: [][2]string{{"EXIT STATUS", exitCodes}},
	}
	files["man/"+page.Name()] = page.Render()
	for name, text := range files {
		pinned.File(t, "../../../packaging/"+name, text)
	}
}
