package cmdline

import (
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
)

// dependencyKinds are the words of --dependency.
var dependencyKinds = map[string]scorev1.DependencyKind{
	"after":      scorev1.DependencyKind_DEPENDENCY_KIND_AFTER,
	"afterany":   scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_ANY,
	"afterok":    scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_OK,
	"afternotok": scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_NOT_OK,
}

// ParseDependencies reads "afterok:7:8,after:9". A job that is named again for the same is taken
// once.
func ParseDependencies(text string) ([]*scorev1.Dependency, error) {
	if strings.Contains(text, "?") {
		return nil, errors.New("all dependencies must be satisfied: put commas between them, not '?'")
	}
	kinds := make(map[uint64]scorev1.DependencyKind)
	var all []*scorev1.Dependency
	for part := range strings.SplitSeq(text, ",") {
		word, numbers, _ := strings.Cut(part, ":")
		kind := dependencyKinds[word]
		if kind == 0 || numbers == "" {
			return nil, fmt.Errorf("%q is not after, afterany, afterok or afternotok with the numbers of jobs, as in afterok:7:8", part)
		}
		d := &scorev1.Dependency{Kind: kind}
		for number := range strings.SplitSeq(numbers, ":") {
			id, err := strconv.ParseUint(number, 10, 64)
			switch {
			case err != nil || id == 0:
				return nil, fmt.Errorf("%q is not a job number; 'scored job list' shows them", number)
			case kinds[id] == kind:
				continue
			case kinds[id] != 0:
				return nil, fmt.Errorf("job %d is named twice, and can satisfy one of them only", id)
			}
			kinds[id] = kind
			d.JobIds = append(d.JobIds, id)
		}
		if len(d.GetJobIds()) > 0 {
			all = append(all, d)
		}
	}
	return all, nil
}

// FormatDependencies is the inverse of ParseDependencies.
func FormatDependencies(all []*scorev1.Dependency) string {
	parts := make([]string, 0, len(all))
	for _, d := range all {
		part := strings.ToLower(strings.TrimPrefix(d.GetKind().String(), "DEPENDENCY_KIND_"))
		part = strings.ReplaceAll(part, "_", "")
		for _, id := range d.GetJobIds() {
			part += fmt.Sprint(":", id)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
