// Package sockowner identifies the owner of the other end of a TCP connection within this host: the
// kernel reports the user, the control group and the inode of that socket (sock_diag(7)), and /proc
// shows which process holds an inode open. TCP has no SO_PEERCRED, and claims of the other end
// cannot be trusted.
//
//	resolver, err := sockowner.NewResolver()
//	owner, err := resolver.Owner(from, to)
//	if err == nil && owner.UID == user && (owner.Group == group || sockowner.Holds(pid, owner.Inode)) { ... }
package sockowner
