package ofi

// row is something that consumers of libfabric need: a row of the test programs.
type row struct {
	name string
	goes bool // the Go program does it, too
	what string
}

// rows are in the order in which the programs do them.
var rows = []row{
	{"rdm", false, "FI_EP_RDM, and no entry for FI_EP_MSG or FI_EP_DGRAM, on which rxm and rxd would build"},
	{"openmpi-mtl", false, "what Open MPI's mtl/ofi asks for: tags, directed receives, cq_data, DOMAIN and SAFE"},
	{"openmpi-btl", false, "what Open MPI's btl/ofi asks for: RMA, atomics, FI_DELIVERY_COMPLETE, BASIC mr_mode"},
	{"mpich", false, "what MPICH's ch4:ofi asks for, at first without version and hints"},
	{"openshmem", false, "what Sandia OpenSHMEM asks for: RMA events, FI_PROGRESS_AUTO, inject of 16 bytes"},
	{"gasnet", false, "the three questions of GASNet-EX"},
	{"limits", false, "64 bits of tag, 8 bytes of cq_data and of keys, inject_size, iov_limit"},
	{"threading", false, "the level of threading is returned as it was asked for"},
	{"progress", false, "so is the kind of progress"},
	{"mr-mode", false, "the BASIC bits of mr_mode are returned, others are not; so are FI_MR_BASIC and FI_MR_SCALABLE"},
	{"order", false, "FI_ORDER_SAS and the orders of RMA and atomics"},
	{"refused", false, "capabilities that there are not are refused, and attributes, and names of nodes"},
	{"sides", false, "what only senders or only receivers have is not in the attributes of the others"},
	{"versions", false, "programs of all API versions, but no later one than the library's"},
	{"addresses", false, "names of at most 64 bytes, inserted one by one or several at once, removed, looked up"},
	{"named-av", false, "no shared address vector; tables and maps"},
	{"left-out", false, "scalable and passive endpoints, shared contexts and poll sets return errors"},
	{"event-queue", false, "events that the program writes, waits with and without a descriptor"},
	{"av-events", false, "address vectors with FI_EVENT report to a queue"},
	{"busy", false, "FI_EBUSY of what is closed before its users"},
	{"reopen", false, "domains that are opened again; what was sent to the old endpoints is gone"},
	{"many-endpoints", false, "a hundred endpoints of a process"},
	{"waits", false, "a wait for what another thread handles"},
	{"endpoints", true, "three endpoints of a process: one queue for sends, one each for receives"},
	{"wait-objects", false, "FI_WAIT_UNSPEC with timeout and signal; no descriptors"},
	{"cq-formats", false, "entries of the four formats"},
	{"small-cq", false, "a queue of 100 entries drops nothing"},
	{"selective", false, "FI_SELECTIVE_COMPLETION, op_flags of endpoints and calls; errors always complete"},
	{"counters", false, "counters of sends, receives, writes and reads; waits; failures apart"},
	{"tagged", true, "tagged messages of 0 bytes to 4 MiB, expected and unexpected"},
	{"tag-bits", true, "each bit of a tag, ignored bits, and messages that match in order"},
	{"message", true, "messages without tags, apart from those with"},
	{"directed", true, "receives of one source take nothing of others"},
	{"undirected", false, "without FI_DIRECTED_RECV the source of a receive is ignored"},
	{"multi-recv", true, "buffers for many messages, FI_OPT_MIN_MULTI_RECV"},
	{"cq-data", true, "eight bytes of data with messages and tagged messages, injected and not"},
	{"inject", true, "the buffer is the program's at once, nothing completes"},
	{"unexpected", true, "thousands of messages before their receives, both ways, without deadlock"},
	{"threads", false, "threads that share an endpoint and a queue"},
	{"signals", false, "handlers of signals that send and look, wherever they interrupt a rank"},
	{"urgent", false, "a handler for SIGURG, which runtimes send to themselves"},
	{"peek", true, "FI_PEEK makes progress, and completes at once: with the message, or as an error"},
	{"probe-waits", false, "a program that waits by looks sleeps, as one that reads its queue does"},
	{"works-between-reads", false, "a program that works for some microseconds between reads in vain is not kept asleep"},
	{"claim", true, "FI_CLAIM by the context of the look, FI_DISCARD"},
	{"cancel", false, "FI_ECANCELED of what no message has matched"},
	{"truncation", true, "FI_ETRUNC, and nothing behind the buffer"},
	{"nowhere", false, "buffers at no address are errors unless they are empty; they do not go as empty messages"},
	{"match-complete", true, "synchronous sends complete when they are received"},
	{"delivery-message", false, "messages with FI_DELIVERY_COMPLETE complete when a receive has the bytes"},
	{"rma", true, "writes and reads of a byte to 1 MiB by offset and chosen key"},
	{"mr-basic", true, "the same by virtual address and the provider's key"},
	{"mr-errors", false, "wrong keys, ranges and rights are errors of the operation, memory at no address one of its registration"},
	{"mr-all", false, "memory from address 0 on without end is all of the process; a wrong address is an error of the operation"},
	{"write-data", true, "writes with data: an entry at the target"},
	{"delivery", false, "FI_DELIVERY_COMPLETE: the bytes are there"},
	{"rma-order", true, "writes, atomics and reads are done in order, whatever their length"},
	{"rma-event", true, "a counter bound to memory counts peers' operations"},
	{"atomic-valid", false, "all types and operations can be asked for, those that consumers need are there"},
	{"atomic", true, "atomics without result: integers, floating point, several elements"},
	{"fetch-atomic", true, "fetch-and-add from both ranks, atomic read and swap"},
	{"compare-atomic", true, "compare-and-swap, masked swap"},
	{"auto-progress", false, "FI_PROGRESS_AUTO: a rank that computes is served"},
}

// names of the rows that satisfy a condition.
func names(is func(row) bool) (found []string) {
	for _, r := range rows {
		if is(r) {
			found = append(found, r.name)
		}
	}
	return found
}
