package gang

import (
	"math"
	"slices"
)

// choose picks nodes from elig by their caps. It succeeds if any choice is possible.
func (f *finder) choose(q *demand) bool {
	sum, nodes := 0, 0
	for i, c := range f.caps {
		if c > 0 {
			sum += int(c)
			nodes++
		} else if i < len(q.must) {
			return false
		}
	}
	if sum < q.tasks || nodes < max(q.nodes, 1) {
		return false
	}
	f.picks = f.picks[:0]
	for i := range q.must {
		f.picks = append(f.picks, pick{pos: f.elig[i], cap: f.caps[i]})
	}
	f.sortBy(f.caps, len(q.must))
	if q.nodes == 0 {
		f.packed(q)
		return true
	}
	return f.even(q)
}

// sortBy fills sorted by a counting sort, since there are few different caps. It omits nodes with
// cap 0.
func (f *finder) sortBy(caps []int32, from int) {
	f.bucket = f.bucket[:0]
	for _, c := range caps[from:] {
		for int(c) >= len(f.bucket) {
			f.bucket = append(f.bucket, 0)
		}
		f.bucket[c]++
	}
	at := int32(0)
	for c := len(f.bucket) - 1; c > 0; c-- {
		f.bucket[c], at = at, at+f.bucket[c]
	}
	f.sorted = slices.Grow(f.sorted[:0], int(at))[:at]
	for i := from; i < len(caps); i++ {
		if c := caps[i]; c > 0 {
			f.sorted[f.bucket[c]] = int32(i)
			f.bucket[c]++
		}
	}
}

func (f *finder) take(i int32) {
	f.picks = append(f.picks, pick{pos: f.elig[i], cap: f.caps[i]})
}

// packed picks as few nodes as possible: the largest ones, and for the remaining ranks the smallest
// node that holds them.
func (f *finder) packed(q *demand) {
	left := int32(q.tasks)
	for i := range f.picks {
		left -= f.picks[i].cap
	}
	for i := 0; left > 0; i++ {
		if f.caps[f.sorted[i]] >= left {
			f.take(f.sorted[f.tightest(i, left)])
			break
		}
		f.take(f.sorted[i])
		left -= f.caps[f.sorted[i]]
	}
	left = int32(q.tasks)
	for i := range f.picks {
		p := &f.picks[i]
		p.ranks = min(p.cap, left-int32(len(f.picks)-i-1)) // leave at least one for each later node
		left -= p.ranks
	}
	f.inNodeOrder()
}

// tightest returns an index in sorted, from i on: of the nodes with the smallest cap of at least
// need, it returns the first.
func (f *finder) tightest(i int, need int32) int {
	end := i
	for end < len(f.sorted) && f.caps[f.sorted[end]] >= need {
		end++
	}
	best := end - 1
	for best > i && f.caps[f.sorted[best-1]] == f.caps[f.sorted[best]] {
		best--
	}
	return best
}

// even picks exactly q.nodes nodes and spreads the ranks evenly. It prefers the smallest nodes that
// can take an equal share; without enough of these it picks the largest nodes.
func (f *finder) even(q *demand) bool {
	need := q.nodes - len(f.picks)
	share := int32((q.tasks + q.nodes - 1) / q.nodes)
	for i := range f.picks {
		if f.picks[i].cap < share {
			share = math.MaxInt32 // a must node is too small for an equal share
		}
	}
	wide := 0 // nodes that can take a share
	for wide < len(f.sorted) && f.caps[f.sorted[wide]] >= share {
		wide++
	}
	if wide >= need {
		f.takeTightest(f.sorted[:wide], need)
	} else {
		for _, i := range f.sorted[:need] {
			f.take(i)
		}
	}
	f.inNodeOrder()
	return f.level(q.tasks)
}

// takeTightest picks the need smallest nodes from a list sorted by falling cap. Nodes with equal
// caps are picked in node order.
func (f *finder) takeTightest(sorted []int32, need int) {
	for end := len(sorted); need > 0; {
		start := end - 1
		for start > 0 && f.caps[sorted[start-1]] == f.caps[sorted[end-1]] {
			start--
		}
		n := min(need, end-start)
		for _, i := range sorted[start : start+n] {
			f.take(i)
		}
		need -= n
		end = start
	}
}

// level gives the picks equal numbers of ranks as far as their caps allow; if the ranks do not
// divide evenly, earlier nodes get one more.
func (f *finder) level(tasks int) bool {
	sum, top := 0, int32(0)
	for _, p := range f.picks {
		sum += int(p.cap)
		top = max(top, p.cap)
	}
	if sum < tasks {
		return false
	}
	low, high := int32(1), top // finds the lowest level that holds all ranks
	for low < high {
		mid := low + (high-low)/2
		if f.filledTo(mid) >= tasks {
			high = mid
		} else {
			low = mid + 1
		}
	}
	excess := f.filledTo(low) - tasks
	for i := len(f.picks) - 1; i >= 0; i-- {
		p := &f.picks[i]
		p.ranks = min(p.cap, low)
		if excess > 0 && p.ranks == low {
			p.ranks--
			excess--
		}
	}
	return true
}

func (f *finder) filledTo(level int32) int {
	n := 0
	for _, p := range f.picks {
		n += int(min(p.cap, level))
	}
	return n
}

func (f *finder) inNodeOrder() {
	slices.SortFunc(f.picks, func(a, b pick) int { return int(a.pos - b.pos) })
}
