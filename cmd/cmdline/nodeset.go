package cmdline

// NodeSet collects the nodes of several lists: each once, in the order of their first mention.
type NodeSet struct {
	Nodes []string
	seen  map[string]bool
}

// Add adds the nodes of a list, which ParseNodes reads.
func (s *NodeSet) Add(list string) error {
	listed, err := ParseNodes(list)
	if err != nil {
		return err
	}
	if s.seen == nil {
		s.seen = make(map[string]bool)
	}
	for _, node := range listed {
		if !s.seen[node] {
			s.seen[node] = true
			s.Nodes = append(s.Nodes, node)
		}
	}
	return nil
}
