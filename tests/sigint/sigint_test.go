package sigint

import (
	"os"
	"os/exec"
	"testing"
)

// play has this binary ask a child of its own whether it takes SIGINT; its value says whether Allow is called before.
const play = "SCORE_TEST_SIGINT"

func TestMain(m *testing.M) {
	switch os.Getenv(play) {
	case "":
		os.Exit(m.Run())
	case "allow":
		Allow()
	}
	child := exec.Command("sh", "-c", "trap 'echo taken' INT; kill -INT $$; echo over")
	child.Stdout = os.Stdout
	if err := child.Run(); err != nil {
		os.Exit(1)
	}
}

// A shell that was started with SIGINT ignored sets no trap, without a word.
func TestAllow(t *testing.T) {
	for how, want := range map[string]string{"allow": "taken\nover\n", "leave": "over\n"} {
		command := exec.Command("sh", "-c", `trap '' INT; exec "$0"`, os.Args[0])
		command.Env = append(os.Environ(), play+"="+how)
		if out, err := command.Output(); err != nil || string(out) != want {
			t.Errorf("%s: %q, %v; want %q", how, out, err, want)
		}
	}
}
