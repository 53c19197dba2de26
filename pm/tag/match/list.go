package match

// element links its owner into a list. Owners embed it.
type element[T any] struct {
	prev, next *element[T]
	owner      *T
	list       *list[T] // nil while in none
}

// list keeps elements in the order of append.
type list[T any] struct {
	head, tail *element[T]
	len        int
}

// append puts e, which is in no list, at the end.
func (l *list[T]) append(e *element[T], owner *T) {
	e.owner, e.list, e.prev = owner, l, l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.len++
}

// remove takes e, which is in l, out and leaves it zero.
func (l *list[T]) remove(e *element[T]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	l.len--
	*e = element[T]{}
}

// removeFirst is remove of the first element.
func (l *list[T]) removeFirst() {
	e := l.head
	if l.head = e.next; l.head == nil {
		l.tail = nil
	} else {
		l.head.prev = nil
	}
	l.len--
	*e = element[T]{}
}

// after returns the element behind e, the first one if e is nil.
func (l *list[T]) after(e *element[T]) *element[T] {
	if e == nil {
		return l.head
	}
	return e.next
}

// all yields the owners in order. The loop may remove the owner that it was given.
func (l *list[T]) all(yield func(*T) bool) {
	for e := l.head; e != nil; {
		next := e.next
		if !yield(e.owner) {
			return
		}
		e = next
	}
}
