package state

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What every server applies must not depend on a clock, on chance, on the machine or on goroutines.
// Clocks and random numbers are not among the imports.
func TestNothingHereDependsOnTheMachine(t *testing.T) {
	allowed := []string{
		"cmp", "errors", "fmt", "maps", "math", "math/bits", "slices",
		"google.golang.org/protobuf/proto",
		"score/scored/api/environ", "score/scored/api/jobmap", "score/scored/api/protocol", "score/scored/api/scorev1",
		"score/scored/api/texts", "score/scored/state/statepb",
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(names) < 5 {
		t.Fatalf("only %v were found", names)
	}
	fset := token.NewFileSet()
	files := make([]*ast.File, 0, len(names))
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
	for _, problem := range impurities(fset, files) {
		t.Error(problem)
	}
}

// impurities finds what could differ on another server: goroutines and channels, floating-point
// numbers, and the order of maps. A loop over a map must have the comment "any order" with its
// reason, or sort at once.
func impurities(fset *token.FileSet, files []*ast.File) (problems []string) {
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	// Types of other packages are not needed, so that it does not matter that they are not found.
	config := types.Config{Error: func(error) {}, Importer: nowhere{}}
	_, _ = config.Check("state", fset, files, info) // as above
	for _, file := range files {
		reasons := make(map[int]bool) // lines on which an order is said not to matter
		for _, group := range file.Comments {
			if strings.Contains(group.Text(), "any order") {
				reasons[fset.Position(group.Pos()).Line] = true
			}
		}
		sorted := make(map[ast.Node]bool)
		ast.Inspect(file, func(n ast.Node) bool {
			say := func(what string) { problems = append(problems, fmt.Sprintf("%v: %s", fset.Position(n.Pos()), what)) }
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				say("goroutines and channels")
			case *ast.Ident:
				if strings.HasPrefix(n.Name, "float") || strings.HasPrefix(n.Name, "complex") {
					say("numbers with a fraction")
				}
			case *ast.RangeStmt:
				_, isMap := underlying(info.TypeOf(n.X)).(*types.Map)
				if (isMap || calls(n.X, "maps", "")) && !reasons[fset.Position(n.Pos()).Line] {
					say("the order of a map; say on this line why any order will do")
				}
				sorted[n.X] = true
			case *ast.CallExpr:
				if calls(n, "slices", "Sorted") && len(n.Args) > 0 {
					sorted[n.Args[0]] = true
				}
				if calls(n, "maps", "") && !calls(n, "maps", "Clone") && !sorted[n] {
					say("the order of a map; sort it")
				}
			}
			return true
		})
	}
	return problems
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// calls reports whether an expression calls a function of a package, by the prefix of the
// function's name.
func calls(e ast.Expr, pkg, prefix string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == pkg && strings.HasPrefix(selector.Sel.Name, prefix)
}

// nowhere is an importer that finds no package.
type nowhere struct{}

func (nowhere) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not looked at", path)
}

// The rule finds each impurity that it is made for.
func TestImpuritiesAreFound(t *testing.T) {
	for _, test := range []struct{ code, want string }{
		{"func f(m map[int]int) { for k := range m { println(k) } }", "order of a map"},
		{"type s struct { jobs map[int]*int }; func (s *s) f() { for range s.jobs { } }", "order of a map"},
		{"type set map[int]bool; func f(m set) { for k := range m { println(k) } }", "order of a map"},
		{"func f(m map[int]int) { for k := range m { // any order: a sum\n println(k) } }", ""},
		{"func f(m map[int]int) { for k := range maps.Keys(m) { println(k) } }", "order of a map"},
		{"func f(m map[int]int) []int { return slices.Collect(maps.Keys(m)) }", "sort it"},
		{"func f(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }", ""},
		{"func f(m map[int]int) []int { return slices.SortedFunc(maps.Values(m), c) }", ""},
		{"func f(s []int) { for k := range s { println(k) } }", ""},
		{"func f(n int) float64 { return 1 }", "fraction"},
		{"func f() { go f() }", "goroutines"},
		{"var c chan int", "goroutines"},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x\n"+test.code, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(impurities(fset, []*ast.File{file}), "; ")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s\n%q, want %q", test.code, got, test.want)
		}
	}
}
