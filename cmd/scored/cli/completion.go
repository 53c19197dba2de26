package cli

import (
	"fmt"
	"score/cmd/cmdline"

	"github.com/spf13/cobra"
)

// scriptFiles are where each shell looks for the completions of all users; powershell has no such
// directory.
var scriptFiles = map[string]string{
	"bash": "/etc/bash_completion.d/scored",
	"zsh":  `"${fpath[1]}/_scored"`,
	"fish": "~/.config/fish/completions/scored.fish",
}

// loadNow has the commands by which the running shell loads a script.
var loadNow = map[string]string{
	"bash":       "source <(scored completion bash)",
	"zsh":        "source <(scored completion zsh)",
	"fish":       "scored completion fish | source",
	"powershell": "scored completion powershell | Out-String | Invoke-Expression",
}

// AddCompletion adds cobra's command completion to root, whose other commands must be there, and
// describes it as ours are.
func AddCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	command, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra adds none to a command that has no others
	}
	command.Short = "print the script by which a shell completes commands"
	command.Long = `Prints the script by which a shell completes the commands, options, jobs, nodes and
users of scored. The Debian package installs those of bash, zsh and fish.`
	command.Args, command.RunE = cmdline.NoArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
	command.DisableFlagsInUseLine = true // it has none
	for _, shell := range command.Commands() {
		name := shell.Name()
		shell.DisableFlagsInUseLine = false
		shell.Args = cmdline.NoArgs
		shell.Short = "print the script for " + name
		shell.Long = fmt.Sprintf("Prints the script for %s. For the shell that runs now:\n\n  %s", name, loadNow[name])
		if file := scriptFiles[name]; file != "" {
			shell.Long += fmt.Sprintf("\n\nFor all later ones:\n\n  scored completion %s > %s", name, file)
		}
		if name == "bash" {
			shell.Long += "\n\nThe script needs the package bash-completion."
		}
	}
}
