// Package fence implements the collective exchange (all-gather) between the nodes of a job: every
// node contributes a piece of data, and every node gets all pieces. It serves the fences of package
// pmi, and does not interpret the data.
//
// A Collective is a machine without I/O: pieces and messages go in, messages to send and results
// come out. It is for one goroutine at a time. There are a tree, a ring and Bruck's algorithm, and
// the Chooser, which chooses one of them for each exchange by the size of its data. The pieces come
// out in no fixed order, so they must carry their own origin. Read collective.go first.
//
// There are no timers here. The caller watches for nodes that do not answer, and calls Lost, which
// ends the exchange with a reason.
//
//	exchange, err := fence.New(nodes, self, fence.Auto)
//	effects := exchange.Add(fence.Op{Kind: fence.KindFence, Seq: seq}, data)
//	for _, effect := range effects {
//		switch effect.Kind {
//		case fence.Send: // carry effect.Message to node effect.To
//		case fence.Done: // engine.FenceDone(effect.Message.Op.Seq, slices.Concat(effect.Message.Data...))
//		case fence.Failed: // end the job: effect.Err
//		}
//	}
package fence
