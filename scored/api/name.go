package api

// MaxName is the longest name of a cluster or node: a label of a host name
// (RFC 1035, section 2.3.4).
const MaxName = 63

// ValidName reports whether a cluster or node may have a name, so that it can
// stand in directory names and host names: letters, digits, and behind the
// first place - and _. It is a loop because a pattern costs each process, even
// one that checks no name, part of a millisecond at its start.
func ValidName(name string) bool {
	if len(name) == 0 || len(name) > MaxName {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '-' || c == '_'):
		default:
			return false
		}
	}
	return true
}
