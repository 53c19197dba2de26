package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/cmd/cmdline"
	"score/cmd/manpage"
	"score/cmd/scored/config"
	"strings"

	"github.com/spf13/cobra"
)

// manCommand returns the command that writes the files that packages install with the programs.
func manCommand(root *cobra.Command) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:    "man",
		Short:  "write the manual pages, completions and example configuration (for packages)",
		Hidden: true,
		Args:   cmdline.NoArgs,
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

// generate returns the contents of the files, keyed by their names in the packaging directory.
func generate(root *cobra.Command) (map[string]string, error) {
	files, err := manpage.Completions(root)
	if err != nil {
		return nil, err
	}
	addPages(files, root)
	files["score.toml"], err = config.Example()
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

// write writes manual pages into dir and the other files beside dir.
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
