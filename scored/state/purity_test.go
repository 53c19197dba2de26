package state

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What is applied on every server must not depend on a clock, on chance, on
// the machine or on goroutines.
func TestNothingHereDependsOnTheMachine(t *testing.T) {
	allowed := []string{
		"cmp", "errors", "fmt", "maps", "slices",
		"google.golang.org/protobuf/proto",
		"score/scored/api/scorev1", "score/scored/state/statepb",
	}
	notTests := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", notTests, 0)
	if err != nil {
		t.Fatal(err)
	}
	files := packages["state"].Files
	if len(files) < 5 {
		t.Fatalf("only %d files were found", len(files))
	}
	for name, file := range files {
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s uses goroutines or channels", name)
			}
			return true
		})
	}
}
