// Package environ reads and changes the environments of processes, lists of NAME=VALUE.
package environ

import "strings"

// Value returns the value of a variable, "" if it is not set. Of several settings the first counts,
// as for programs (getenv(3)) and for os.Environ.
func Value(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// Override returns an environment (NAME=VALUE each) with variables set to other
// values, or added. The arguments stay as they are; what has no name is left out.
func Override(env, with []string) []string {
	if len(with) == 0 {
		return env
	}
	value := make(map[string]string, len(with))
	var order []string
	for _, v := range with {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			continue
		}
		if _, seen := value[name]; !seen {
			order = append(order, name)
		}
		value[name] = v
	}
	out := make([]string, 0, len(env)+len(order))
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if _, set := value[name]; !set {
			out = append(out, v)
		}
	}
	for _, name := range order {
		out = append(out, value[name])
	}
	return out
}
