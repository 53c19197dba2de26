package launch

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// benchRanks is the size of the launch that the figures are about.
const benchRanks = 32

func trueRanks(b *testing.B, set func(*Rank)) []Rank {
	null := int(devNull(b).Fd())
	ranks := make([]Rank, benchRanks)
	for i := range ranks {
		ranks[i] = Rank{
			ID: i, Path: "/bin/true", Argv: []string{"true"}, Env: os.Environ(), Dir: "/",
			Stdin: null, Stdout: null, Stderr: null,
		}
		if set != nil {
			set(&ranks[i])
		}
	}
	return ranks
}

// BenchmarkLaunch starts and reaps 32 times /bin/true, in the ways that cost.
func BenchmarkLaunch(b *testing.B) {
	cases := []struct {
		name string
		set  func(*Rank)
	}{
		{"plain", nil},
		{"pinned", func(r *Rank) { r.CPUs = []int{r.ID % runtime.NumCPU()} }},
		{"limits", func(r *Rank) { r.Limits = []Limit{{unix.RLIMIT_NOFILE, 1000, 1000}} }},
		{"user", func(r *Rank) { r.User = nobody }},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			if c.name == "user" {
				needRoot(b)
			}
			forker := newBench(b)
			ranks := trueRanks(b, c.set)
			b.ReportAllocs()
			for b.Loop() {
				launchAll(b, forker, ranks)
			}
		})
	}
}

func launchAll(b *testing.B, forker *bench, ranks []Rank) {
	if _, err := forker.StartAll(ranks); err != nil {
		b.Fatal(err)
	}
	for range ranks {
		forker.exit(b)
	}
}

// BenchmarkLaunchBash is the same by a shell, which also starts itself.
func BenchmarkLaunchBash(b *testing.B) {
	for _, n := range []int{0, benchRanks} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			line := "for i in $(seq " + strconv.Itoa(n) + "); do /bin/true & done; wait"
			for b.Loop() {
				if err := exec.Command("bash", "-c", line).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResolve is the check that precedes a launch.
func BenchmarkResolve(b *testing.B) {
	for name, u := range map[string]*User{"self": nil, "user": nobody} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Resolve("true", "/", "/usr/local/bin:/usr/bin:/bin", u); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
