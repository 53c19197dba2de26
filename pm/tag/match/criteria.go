package match

// AnySource as a Criteria's source takes messages of all sources. No message has this source.
const AnySource = ^uint32(0)

// Criteria say which messages a receive takes: those of Source, or of all sources if it is
// AnySource, whose tag equals Tag in all bits that Ignore does not have.
type Criteria struct {
	Source      uint32
	Tag, Ignore uint64
}

// matches reports whether c takes a message.
func (c Criteria) matches(source uint32, tag uint64) bool {
	return (c.Tag^tag)&^c.Ignore == 0 && (c.Source == source || c.Source == AnySource)
}
