package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ownPrefix begins the variables that the ranks always get, whatever --export is.
const ownPrefix = "SCORE_"

// Export is the value of --export: the variables of the environment that the ranks get, and those
// that are set for them.
type Export struct {
	all   bool
	names []string // copied if they are set
	set   []string // NAME=value, in the order given
}

// exportAll is the default.
var exportAll = Export{all: true}

// parseExport reads a comma-separated list of ALL, NONE, NAME and NAME=value. As with srun, names
// without ALL mean only these variables.
func parseExport(text string) (Export, error) {
	if strings.EqualFold(text, "NONE") || strings.EqualFold(text, "NIL") {
		return Export{}, nil
	}
	var export Export
	for item := range strings.SplitSeq(text, ",") {
		name, _, assigned := strings.Cut(item, "=")
		switch {
		case name == "":
			return Export{}, errors.New("write it as ALL, NONE, or a comma-separated list of names and NAME=value")
		case !assigned && strings.EqualFold(name, "NONE"):
			return Export{}, errors.New("NONE excludes other names")
		case !assigned && strings.EqualFold(name, "ALL"):
			export.all = true
		case strings.ContainsAny(name, " \t\n\x00"):
			return Export{}, fmt.Errorf("%q is not the name of a variable", name)
		case assigned:
			export.set = append(export.set, item)
		default:
			export.names = append(export.names, name)
		}
	}
	return export, nil
}

// Apply returns the ranks' environment, made from the user's.
func (e Export) Apply(environ []string) []string {
	out := make([]string, 0, len(environ)+len(e.set))
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if ok && e.keeps(name) && !e.sets(name) {
			out = append(out, entry)
		}
	}
	for i, entry := range e.set {
		if !overridden(e.set[i+1:], entry) {
			out = append(out, entry)
		}
	}
	return out
}

func (e Export) keeps(name string) bool {
	return e.all || strings.HasPrefix(name, ownPrefix) || slices.Contains(e.names, name)
}

func (e Export) sets(name string) bool {
	for _, entry := range e.set {
		if set, _, _ := strings.Cut(entry, "="); set == name {
			return true
		}
	}
	return false
}

// overridden reports whether a later assignment has the same name.
func overridden(later []string, entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return Export{set: later}.sets(name)
}
