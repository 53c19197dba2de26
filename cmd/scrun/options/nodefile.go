package options

import (
	"errors"
	"fmt"
	"io"
	"os"
	"score/cmd/cmdline"
	"strings"
)

// maxNodeFile bounds the bytes of a file of nodes: the longest list that --nodelist takes has
// fewer.
const maxNodeFile = 8 << 20

// parseHosts reads a list of nodes or, if the text has a slash, the file of that name, as srun
// does.
func parseHosts(text string) ([]string, error) {
	if !strings.Contains(text, "/") {
		return cmdline.ParseNodes(text)
	}
	file, err := os.Open(text)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxNodeFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxNodeFile:
		return nil, fmt.Errorf("the file is larger than %d MiB; is it one of nodes?", maxNodeFile>>20)
	}
	return parseNodeFile(string(content))
}

// parseNodeFile reads the nodes of a file: the first word of each line is a node or a list of
// nodes. Words behind it, as in mpirun's "n1 slots=4", and comments count for nothing, nor does a
// node that is named again.
func parseNodeFile(content string) ([]string, error) {
	var set cmdline.NodeSet
	for line := range strings.Lines(content) {
		line, _, _ = strings.Cut(line, "#") // a comment
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := set.Add(strings.TrimSuffix(words[0], ",")); err != nil {
			return nil, fmt.Errorf("the line %.80q: %w", line, err)
		}
		if len(set.Nodes) > cmdline.MaxNodes {
			return nil, fmt.Errorf("the file names more than %d nodes", cmdline.MaxNodes)
		}
	}
	if len(set.Nodes) == 0 {
		return nil, errors.New("the file names no nodes")
	}
	return set.Nodes, nil
}
