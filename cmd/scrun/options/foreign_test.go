package options

import (
	"regexp"
	"strings"
	"testing"
)

// What users of srun and mpirun try, and what they are told.
func TestForeign(t *testing.T) {
	for option, want := range map[string]string{
		"--tasks-per-node=4": "--ntasks-per-node", "--mem-per-cpu=1G": "--mem sets", "-p": "there are no partitions",
		"--partition=debug": "there are no partitions", "-A": "'scored user list'", "--account=x": "'scored user list'", "--gres=gpu:1": "devices",
		"--gpus=2": "devices", "--overlap": "taking turns", "-O": "-s (--oversubscribe)", "--overcommit": "-s (--oversubscribe)",
		"--requires=x": "-x those not to use", "--multi-prog": "$SCORE_RANK", "--cpu-bind=cores": "-c sets", "--jobid=7": "no allocation",
		"--bcast": "--stage", "--begin=now": "as soon as they fit", "--hostfile": "-w ./FILE", "--mca": "OMPI_MCA_",
		"-np":          "-n sets the number of ranks",
		"-machinefile": "-w ./FILE", "-ppn": "--ntasks-per-node", "-genv": "--export sets", "-perhost": "--ntasks-per-node",
		"-npernode": "--ntasks-per-node",
		"--exact":   "-c sets", "--wrap=x": "sh -c", "--parsable": "-d prints", "--no-requeue": "only with --requeue", "--x11": "DISPLAY",
		"--step=1": "no allocation", "--export-file=x": "--export sets",
		"--report-bindings": "-v shows", "-f": "-w names", "--time-limit=5": "-t (--time)", "--cores-per-task=2": "-c sets", "--tag-output": "-l (--label)",
		"--oversubscrib": "did you mean --oversubscribe?", "--jobname": "did you mean --job-name?",
	} {
		_, err := parse(t, option, "p")
		if err == nil || !strings.Contains(err.Error(), " option -") || !strings.Contains(err.Error(), want) {
			t.Errorf("scrun %s: %v", option, err)
		}
	}
}

// The value of a long option is not taken for an option of srun.
func TestValueIsNoOption(t *testing.T) {
	for _, option := range []string{"--respawn=x", "--priority=x", "--mem=wait", "--signal=x"} {
		name, _, _ := strings.Cut(option, "=")
		if _, err := parse(t, option, "p"); err == nil || !strings.HasPrefix(err.Error(), name+" ") {
			t.Errorf("scrun %s: %v", option, err)
		}
	}
}

// What srun has and scrun has too is taken.
func TestCommonWithSrun(t *testing.T) {
	for _, arguments := range []string{
		"-n 2", "--ntasks=2", "-n 2 -N 2", "-n 2 --nodes=2", "--ntasks-per-node=2", "-c 2", "--cpus-per-task=2", "--mem=1G", "-t 1",
		"--time=1:00", "-w n1", "--nodelist=n1", "-x n1", "--exclude=n[1-2]", "--exclusive", "-s",
		"-J x", "--job-name=x", "-D /", "--chdir=/", "--export=ALL", "-l", "--label", "-u", "--unbuffered", "--mpi=pmix", "--pty", "-i none", "-o x", "-e x",
		"-K", "-K0", "--kill-on-bad-exit=1", "-m cyclic", "-v", "-q", "--priority=0",
	} {
		if _, err := parse(t, append(strings.Fields(arguments), "p")...); err != nil {
			t.Errorf("scrun %s: %v", arguments, err)
		}
	}
}

// The table knows no option that there is, and names none that there is not.
func TestForeignTable(t *testing.T) {
	command := Command(nil)
	flags := command.Flags()
	option := regexp.MustCompile(`(^|[ (])(--?)([a-zA-Z-]+)`)
	for name, instead := range foreign {
		if len(name) == 1 && flags.ShorthandLookup(name) != nil || len(name) > 1 && flags.Lookup(name) != nil {
			t.Errorf("there is an option %s", name)
		}
		if strings.HasPrefix(instead, "sudo") {
			continue // its own options
		}
		for _, found := range option.FindAllStringSubmatch(instead, -1) {
			if dashes, word := found[2], found[3]; dashes == "-" && flags.ShorthandLookup(word) == nil || dashes == "--" && flags.Lookup(word) == nil {
				t.Errorf("%s: there is no option %s%s either", name, dashes, word)
			}
		}
	}
}
