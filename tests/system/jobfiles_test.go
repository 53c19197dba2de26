package system

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"score/nodeagent/mpidirs"
	"score/scored/client"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// clusterName finds the name of a cluster in a script's configuration.
var clusterName = regexp.MustCompile(`(?m)^\[cluster\]\s*\n(?:[^\[\n]*\n)*?name\s*=\s*"([^"]+)"`)

// devFiles are what the names of the jobs' files of development clusters begin with, by
// the script's directory.
var devFiles = struct {
	sync.Mutex
	of map[string][]string
}{of: make(map[string][]string)}

// noteDevFiles remembers a development cluster, whose directory is gone at its end.
func noteDevFiles(work, cluster string) error {
	user, err := client.UserDir()
	if err != nil {
		return err
	}
	devFiles.Lock()
	defer devFiles.Unlock()
	agents := filepath.Join(user, cluster, "agents")
	entries, err := os.ReadDir(agents)
	for _, e := range entries {
		devFiles.of[work] = append(devFiles.of[work], mpidirs.Prefix(cluster, e.Name(), filepath.Join(agents, e.Name())))
	}
	return err
}

// nothingLeftOfJobs waits until no job's files are left; with !, there must be some.
func nothingLeftOfJobs(ts *testscript.TestScript, neg bool, args []string) {
	list := func() []string { return jobFiles(ts.Getenv("WORK")) }
	if !neg {
		ts.Check(awaitNone(list))
		return
	}
	if len(list()) == 0 {
		ts.Fatalf("no files of jobs are found")
	}
}

// jobFiles lists what jobs of a script's clusters have left where everybody may write: of
// its development clusters, and of the agents whose run directories are below its own.
func jobFiles(work string) (left []string) {
	devFiles.Lock()
	prefixes := devFiles.of[work]
	devFiles.Unlock()
	var dirs []string
	clusters := make(map[string]bool)
	_ = filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil: // it has just gone
		case entry.IsDir():
			dirs = append(dirs, path)
		case filepath.Ext(path) == ".toml":
			text, _ := os.ReadFile(path)
			for _, match := range clusterName.FindAllSubmatch(text, -1) {
				clusters[string(match[1])] = true
			}
		}
		return nil
	})
	for cluster := range clusters {
		for _, dir := range dirs {
			prefixes = append(prefixes[:len(prefixes):len(prefixes)], mpidirs.Prefix(cluster, filepath.Base(dir), dir))
		}
	}
	for _, prefix := range prefixes {
		left = append(left, mpidirs.Find(prefix)...)
	}
	return left
}
