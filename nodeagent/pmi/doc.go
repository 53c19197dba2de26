// Package pmi is the process management engine of one job on one node: the
// key-value sets of the ranks, the fence that exchanges them, node attributes
// whose readers wait, the requests to the name table and for new processes,
// abort, and the record of who has initialised and who has finalized.
//
// It is a machine without I/O. Requests of ranks go in as method calls; what
// cannot be answered at once comes out later as an [Event]. It knows no wire
// format: packages pmi1 and pmi2 are the formats, package wire joins them with
// the engine, and that is what a server of ranks uses. The engine is for one
// goroutine at a time; its caller locks.
//
// The engine is not a name service and starts no processes: it hands such
// requests out and takes the results back, since both concern the cluster.
//
// Visibility of keys. What a rank puts belongs to that rank's key set. The rank
// itself sees it at once, every other rank after the next fence, whether it
// lives on this node or not, so a program cannot come to depend on where its
// ranks were placed. Where ranks put one key twice, the later fence wins, and
// within one fence the highest rank: the same answer on every node.
//
//	engine, err := pmi.NewEngine(pmi.JobInfo{
//		Job: 7, KVSName: "score_7", RankNode: []int32{0, 0, 1, 1}, NodeIndex: 0,
//	})
//	server := wire.NewServer(engine)
//	for _, effect := range server.Feed(rank, bytesRead) { ... }
package pmi
