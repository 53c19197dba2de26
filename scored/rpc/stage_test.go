package rpc

import (
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

func TestStagedFilesAreChecked(t *testing.T) {
	file := func(change func(*scorev1.StagedFile)) *scorev1.StagedFile {
		f := &scorev1.StagedFile{Name: "a.out", Sha256: make([]byte, sumBytes), Size: 1, Kind: scorev1.StagedKind_STAGED_KIND_PROGRAM}
		change(f)
		return f
	}
	same := func(*scorev1.StagedFile) {}
	library := func(f *scorev1.StagedFile) { f.Kind = scorev1.StagedKind_STAGED_KIND_LIBRARY }
	data := func(f *scorev1.StagedFile) { f.Name, f.Kind = "data", scorev1.StagedKind_STAGED_KIND_FILE }
	if err := checkStagedFiles([]*scorev1.StagedFile{file(same), file(library), file(data)}); err != nil {
		t.Error(err)
	}
	for want, files := range map[string][]*scorev1.StagedFile{
		"is not a valid name": {file(func(f *scorev1.StagedFile) { f.Name = "../a" })},
		"cannot be called":    {file(func(f *scorev1.StagedFile) { f.Name = "lib" })},
		"two staged files":    {file(same), file(func(f *scorev1.StagedFile) { f.Kind = scorev1.StagedKind_STAGED_KIND_FILE })},
		"digest":              {file(func(f *scorev1.StagedFile) { f.Sha256 = f.Sha256[1:] })},
		"more than 64 GiB":    {file(func(f *scorev1.StagedFile) { f.Size = maxStagedBytes }), file(data)},
		"is unknown":          {file(func(f *scorev1.StagedFile) { f.Kind = 99 })},
		"2 programs":          {file(same), file(func(f *scorev1.StagedFile) { f.Name = "b.out" })},
		"holds a NUL":         {file(func(f *scorev1.StagedFile) { f.Name = "a\x00b" })},
		"at most 256":         make([]*scorev1.StagedFile, maxStaged+1),
	} {
		if err := checkStagedFiles(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
