package uct

// Identifiers of the package's own messages.
const (
	idAck         uint8 = 1 + iota // requests up to number Arg were served
	idNak                          // requests Arg to the payload's number failed with status Bits
	idPut                          // request: key, offset, immediate data if bitData, bytes
	idPutCopy                      // request: key, offset, length, address of the bytes, data if bitData
	idGet                          // call Arg: key, offset, length, address for the bytes or 0
	idData                         // for call Arg: offset in the answer, bytes
	idDone                         // call Arg has ended with status Bits
	idAtomic                       // request, or call Arg: key, offset, operation, type, operands
	idDescribe                     // asks for the description of a key
	idDescription                  // of a key
	idBye                          // the sender closes its end
	idCopies                       // asks whether the peer may copy (Bits 0), or answers
	idAsk                          // call Arg: key, offset, length, a piece's place and length, where to
	idProbe                        // call Arg: was a piece sent? its place and length, token
	idSent                         // call Arg: it was, or cannot be: the same words; status in Bits
	idPutPull                      // request: key, offset, length, key and offset of the bytes, data if bitData

	_ = FirstID - 1 - idPutPull // it does not compile with more
)

// Bits of a put.
const (
	bitData uint8 = 1 << iota // it carries immediate data
	bitMore                   // more pieces follow

	// lengthAt is where the bits of a put have those of its length that do not go into the
	// argument.
	lengthAt = 2
)
