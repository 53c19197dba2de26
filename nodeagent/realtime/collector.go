package realtime

// collectorReserve is how much the heap seems to be larger, in bytes. A daemon's live heap is a few
// MB, so that without it a collection would come after every few MB of messages, which takes a
// seventh of a busy daemon's CPU time.
const collectorReserve = 8 << 20

// reserve is never touched, so the kernel gives it no memory.
var reserve []byte //nolint:unused // that it is reachable is its use

// CalmCollector makes Go's garbage collector run less often: it runs when the heap has doubled, and
// the heap counts as collectorReserve larger than it is.
func CalmCollector() { reserve = make([]byte, collectorReserve) }
