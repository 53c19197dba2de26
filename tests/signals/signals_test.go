package signals

import (
	"os"
	"os/exec"
	"testing"
)

// play makes this binary ask a child of its own whether it receives a signal. Its value selects
// whether Allow is called before.
const (
	play  = "SCORE_TEST_SIGNALS"
	named = "SCORE_TEST_SIGNAL"
)

func TestMain(m *testing.M) {
	switch os.Getenv(play) {
	case "":
		os.Exit(m.Run())
	case "allow":
		Allow()
	}
	child := exec.Command("sh", "-c", "trap 'echo taken' $"+named+"; kill -$"+named+" $$; echo over")
	child.Stdout = os.Stdout
	if err := child.Run(); err != nil {
		os.Exit(1)
	}
}

// A shell that was started with a signal ignored sets no trap, without a word.
func TestAllow(t *testing.T) {
	for _, name := range []string{"INT", "HUP"} {
		for how, want := range map[string]string{"allow": "taken\nover\n", "leave": "over\n"} {
			command := exec.Command("sh", "-c", `trap '' $`+named+`; exec "$0"`, os.Args[0])
			command.Env = append(os.Environ(), play+"="+how, named+"="+name)
			if out, err := command.Output(); err != nil || string(out) != want {
				t.Errorf("%s, %s: %q, %v; want %q", name, how, out, err, want)
			}
		}
	}
}
