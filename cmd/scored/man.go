package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"score/cmd/scored/config"
	"score/cmd/scored/manpage"
	"score/cmd/scrun/options"
)

// manCommand writes what packages install besides the programs.
func manCommand(root *cobra.Command) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:    "man",
		Short:  "write the manual pages, completions and example configuration (for packages)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return errors.New("name the directory of the manual pages with --dir; completions and score.toml go beside it")
			}
			files, err := generate(root)
			if err != nil {
				return err
			}
			return write(dir, files)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "`directory` of the manual pages")
	return command
}

// generate makes the files, by their names relative to the packaging directory.
func generate(root *cobra.Command) (map[string]string, error) {
	files := make(map[string]string)
	addPages(files, root)
	scrun := options.Command(func(*options.Options) error { return nil })
	scrun.InitDefaultHelpFlag()
	page := manpage.Page{
		Command: scrun, SeeAlso: []string{"scored", "scored-job", "scored-dev"},
		Extra: [][2]string{{"EXIT STATUS", options.ExitCodes}},
	}
	files["man/"+page.Name()] = page.Render()
	for _, command := range []*cobra.Command{root, scrun} {
		if err := addCompletions(files, command); err != nil {
			return nil, err
		}
	}
	example, err := config.Example()
	files["score.toml"] = example
	return files, err
}

func addPages(files map[string]string, command *cobra.Command) {
	command.InitDefaultHelpFlag()
	page := manpage.Page{Command: command}
	if !command.HasParent() {
		page.SeeAlso = []string{"scrun"}
	}
	files["man/"+page.Name()] = page.Render()
	for _, child := range manpage.Visible(command) {
		addPages(files, child)
	}
}

func addCompletions(files map[string]string, command *cobra.Command) error {
	var bash, zsh, fish bytes.Buffer
	err := errors.Join(
		command.GenBashCompletionV2(&bash, true),
		command.GenZshCompletion(&zsh),
		command.GenFishCompletion(&fish, true),
	)
	files["completion/"+command.Name()+".bash"] = bash.String()
	files["completion/_"+command.Name()] = zsh.String()
	files["completion/"+command.Name()+".fish"] = fish.String()
	return err
}

// write puts manual pages in dir and the rest beside it.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(filepath.Dir(dir), name)
		if page, ok := strings.CutPrefix(name, "man/"); ok {
			path = filepath.Join(dir, page)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write: %w", err)
		}
	}
	return nil
}
