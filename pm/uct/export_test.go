package uct

// Identifiers of the package's own messages, for tests that send them by hand.
const (
	IDAck, IDNak, IDPut, IDPutCopy, IDGet, IDData     = idAck, idNak, idPut, idPutCopy, idGet, idData
	IDDone, IDAtomic, IDDescribe, IDDescription       = idDone, idAtomic, idDescribe, idDescription
	IDBye, IDCopies, CopiesYes, DescriptionBytes, Bit = idBye, idCopies, uint8(copiesYes), descriptionBytes, bitData
)

// Identifiers of pulls by bulk datagrams.
const IDAsk, IDProbe, IDSent, IDPutPull = idAsk, idProbe, idSent, idPutPull

// Forget ends what is under way with a rank, which is then as new.
func (i *Iface) Forget(rank int) {
	ep := i.eps[rank]
	if ep == nil {
		return
	}
	ep.fail(ErrCanceled)
	i.endLost(len(i.lost), true)
	ep.release()
	for at, active := range i.active {
		if active == ep {
			i.active = append(i.active[:at], i.active[at+1:]...)
			break
		}
	}
	i.eps[rank] = nil
}

// Owed is how many operations are not complete, Serves how many answers to a rank wait.
func (i *Iface) Owed() int { return i.owed }

// Calls is how many operations wait for data.
func (i *Iface) Calls() (n int) {
	i.calls.Each(func(*op) { n++ })
	return n
}

// Serves is how many answers to the peer wait.
func (e *EP) Serves() int { return e.serves }

// MaxServes bounds them.
const MaxServes = maxServes

// Unmapped is how many keys without a mapping the EP remembers, MaxUnmapped bounds it.
func (e *EP) Unmapped() int { return e.remotes.unmapped }

const MaxUnmapped = maxUnmapped
