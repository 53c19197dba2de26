package state

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What is applied on every server must not depend on a clock, on chance, on
// the machine or on goroutines.
func TestNothingHereDependsOnTheMachine(t *testing.T) {
	allowed := []string{
		"cmp", "errors", "fmt", "maps", "math", "math/bits", "slices",
		"google.golang.org/protobuf/proto",
		"score/scored/api/scorev1", "score/scored/state/statepb",
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(names) < 5 {
		t.Fatalf("only %v were found", names)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
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
