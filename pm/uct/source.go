package uct

// maxSources bounds the long pulls that a peer has under way: gets, and a put.
const maxSources = MaxGets + 1

// source is the region that a pull of a peer began to read. A long pull asks for a piece at a time;
// by then the key may name other memory, and its bytes must not be mixed.
type source struct {
	call, token uint32
	region      *Region
}

// sameSource reports whether a pull still reads the region that it began with.
func (e *EP) sameSource(call, token uint32, r *Region) bool {
	fresh := source{call, token, r}
	for i := range e.sources {
		s := &e.sources[i]
		if s.call != call {
			continue
		}
		if s.token == token {
			return s.region == r
		}
		*s = fresh
		return true
	}
	if len(e.sources) < maxSources {
		e.sources = append(e.sources, fresh)
		return true
	}
	e.sources[e.oldest] = fresh
	e.oldest = (e.oldest + 1) % maxSources
	return true
}
