// Package guest boots Linux guests that tests throw away: User-Mode Linux, a kernel that runs as an
// ordinary process, with modules that this machine's may lack, file systems of its own, and
// Ethernet between guests. The kernel comes from Debian's package user-mode-linux, which is fetched
// once and unpacked below the user's cache directory; nothing is installed.
//
// A guest has one CPU. Its root is this machine's, in which it can write into its own memory, or a
// disk that outlives it. It can be killed as by a power cut, and boots again.
package guest
