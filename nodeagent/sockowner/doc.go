// Package sockowner finds out who has the other end of a TCP connection within
// this host: the kernel tells the user and the inode of that socket
// (sock_diag(7)), and /proc which process holds an inode open. A TCP connection
// has no SO_PEERCRED, and what its other end says of itself is only words.
//
//	owner, err := sockowner.Of(fd)
//	if err == nil && owner.UID == user && sockowner.Holds(pid, owner.Inode) { ... }
package sockowner
