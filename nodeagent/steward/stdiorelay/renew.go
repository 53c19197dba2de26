package stdiorelay

// renew forgets a job's streams once all of them have ended, which they do at the latest with the
// job's processes. It reports whether nothing is left of them.
func (r *Relay) renew() {
	if r.open > 0 || r.added > 0 && !r.allAdded || r.reader != nil && (!r.lastQueued || r.reader.Unsent() > 0) {
		return // settle calls it again
	}
	r.closeFiles() // of streams that had none, and so closed none
	onRenewed, clean := r.onRenewed, !r.storeFailed && (r.files == nil || r.files.closed)
	r.onRenewed = nil
	r.detach()
	if clean {
		r.input.close()
		r.input = input{loop: r.loop}
		r.streams, r.files = nil, nil
		r.added, r.watched, r.allAdded, r.lastQueued, r.drained, r.refusalTold = 0, 0, false, false, false, false
		r.kept, r.pace = unacked{}, pace{}
		r.affinity.reset()
	}
	onRenewed(clean)
}
