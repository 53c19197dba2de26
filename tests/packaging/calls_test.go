package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// names returns what a pattern finds in a file, sorted, each once.
func names(t *testing.T, file string, pattern *regexp.Regexp) (found []string) {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range pattern.FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Pages of ours that a page refers to are there.
func TestPagesReferToPages(t *testing.T) {
	const pages = "../../packaging/man/"
	reference := regexp.MustCompile(`(?m)^\.BR (scrun|score[a-z\\_-]*) \((\d)\)`)
	files, err := filepath.Glob(pages + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range reference.FindAllStringSubmatch(string(text), -1) {
			page := strings.ReplaceAll(found[1], `\-`, "-") + "." + found[2]
			if !slices.Contains(files, pages+page) {
				t.Errorf("%s refers to %s", filepath.Base(file), page)
			}
		}
	}
}

// TestEachCallIsDocumented compares the calls of the headers with those of the manual pages, and of
// the Fortran modules.
func TestEachCallIsDocumented(t *testing.T) {
	header := regexp.MustCompile(`(?m)^(?:[a-z_]+ )+\*?((?:score|skifch)_[a-z_]+)\(`)
	page := regexp.MustCompile(`(?m)^\.BI ".*[ *]((?:score|skifch)_[a-z_]+)\(`)
	module := regexp.MustCompile(`(?m)^ +public ::.*$`)

	const headers, pages = "../../pm/lib/include/score/", "../../packaging/man/"
	for h, p := range map[string]string{"pm.h": "score_pm.3", "skifch.h": "score_skifch.3"} {
		calls := names(t, headers+h, header)
		if documented := names(t, pages+p, page); len(calls) < 8 || !slices.Equal(calls, documented) {
			t.Errorf("%s has %v, %s has %v", h, calls, p, documented)
		}
	}

	for h, m := range map[string]string{"pm.h": "score_pm.f90", "skifch.h": "score_skifch.f90"} {
		text, err := os.ReadFile(headers + m)
		if err != nil {
			t.Fatal(err)
		}
		public := slices.Concat(module.FindAll(text, -1)...)
		for _, call := range names(t, headers+h, header) {
			if !regexp.MustCompile(`\b` + call + `\b`).Match(public) {
				t.Errorf("%s has no %s", m, call)
			}
		}
	}

	errors := regexp.MustCompile(`-(E[A-Z0-9]+)\t`)
	listed := regexp.MustCompile(`(?m)^\.B \\-(E[A-Z0-9]+)$`)
	if inHeader, inPage := names(t, headers+"pm.h", errors), names(t, pages+"score_pm.3", listed); !slices.Equal(inHeader, inPage) {
		t.Errorf("pm.h has the errors %v, the manual page %v", inHeader, inPage)
	}
}
