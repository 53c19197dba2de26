// Package sockowner finds out who has the other end of a TCP connection within this host: the
// kernel tells the user, the control group and the inode of that socket (sock_diag(7)), and /proc
// which process holds an inode open. A TCP connection has no SO_PEERCRED, and claims of its other
// end cannot be trusted.
//
//	asker, err := sockowner.NewAsker()
//	owner, err := asker.Of(from, to)
//	if err == nil && owner.UID == user && (owner.Group == group || sockowner.Holds(pid, owner.Inode)) { ... }
package sockowner
