package gang

// Split returns each node's part of the rotation: the jobs that run there in each of Rows,
// ascending. It omits nodes without jobs. nodesOf returns a job's nodes, each once; they may differ
// from the matrix while agents and matrix are being reconciled.
func (r *Rotation) Split(nodesOf func(JobID) []NodeID) map[NodeID][][]JobID {
	split := make(map[NodeID][][]JobID)
	for pos := range r.Rows {
		for _, id := range r.Rows[pos].Present() {
			for _, node := range nodesOf(id) {
				rows := split[node]
				if rows == nil {
					rows = make([][]JobID, len(r.Rows))
					split[node] = rows
				}
				rows[pos] = append(rows[pos], id)
			}
		}
	}
	return split
}
