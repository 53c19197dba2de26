package match

// Recv is a receive. Its owner sets Criteria and Multi, embeds it where the receive's buffer is
// known, and leaves it alone while it is posted. Zero is ready, and so is one that was posted and
// is not any more.
type Recv struct {
	Criteria
	Multi   bool // it stays posted after a match, until Cancel
	indexed int8 // notIndexed, inFurther, or 1 + the index of its class
	order   uint64
	all     element[Recv]
	key     link[Recv]
	further element[Recv]
}

// Values of Recv.indexed besides classes.
const (
	notIndexed = 0
	inFurther  = -1
)

// postedClasses bounds the tables in which an arriving message is looked up: each costs it some
// 3 ns while it has receives. Programs use about six: a source or any, and with each the library's
// mask, its mask and the tag, or no mask.
const postedClasses = 8

// posted holds the posted receives.
//
// The receives up to passed, and no others, are indexed: each is in its class, or in further.
type posted struct {
	list    list[Recv]
	passed  *element[Recv] // the last one that a message has passed over; nil if none
	order   uint64         // of the receive posted last
	classes classes[Recv]
	further list[Recv] // indexed receives for which there was no class
}

// post puts r at the end.
func (p *posted) post(r *Recv) {
	p.order++
	r.order = p.order
	p.list.append(&r.all, r)
}

// find returns the oldest receive that matches, nil if there is none. Indexed receives are older
// than the others.
func (p *posted) find(source uint32, tag uint64) *Recv {
	if p.passed != nil {
		if r := p.findIndexed(source, tag); r != nil {
			return r
		}
	}
	for e := p.list.after(p.passed); e != nil; e = e.next {
		r := e.owner
		if r.matches(source, tag) {
			return r
		}
		p.index(r)
	}
	return nil
}

// findIndexed returns the oldest indexed receive that matches, nil if there is none.
func (p *posted) findIndexed(source uint32, tag uint64) *Recv {
	var oldest *Recv
	for i := range p.classes {
		r := p.classes[i].oldest(source, tag)
		if r != nil && (oldest == nil || r.order < oldest.order) {
			oldest = r
		}
	}
	for e := p.further.head; e != nil; e = e.next {
		r := e.owner
		if oldest != nil && oldest.order < r.order {
			break
		}
		if r.matches(source, tag) {
			return r
		}
	}
	return oldest
}

// index enters r, the first one that is not indexed.
func (p *posted) index(r *Recv) {
	p.passed = &r.all
	i := p.classes.of(&r.Criteria, postedClasses)
	if i == none {
		r.indexed = inFurther
		p.further.append(&r.further, r)
		return
	}
	r.indexed = int8(i + 1)
	p.classes[i].add(&r.key, r, r.Source, r.Tag)
}

// remove takes r, which is posted, out.
func (p *posted) remove(r *Recv) {
	if r.indexed != notIndexed {
		p.unindex(r)
	}
	p.list.remove(&r.all)
}

// unindex undoes index.
func (p *posted) unindex(r *Recv) {
	if p.passed == &r.all {
		p.passed = r.all.prev
	}
	if r.indexed == inFurther {
		p.further.remove(&r.further)
	} else {
		p.classes[r.indexed-1].remove(&r.key)
	}
	r.indexed = notIndexed
}
