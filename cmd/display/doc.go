// Package display shows the output of a job's ranks on scrun's own standard output and error, or in
// files. It writes whole lines, which do not mix.
//
// It holds at most one incomplete line of each stream. Its caller waits while a terminal or pipe
// accepts nothing. The output of detached jobs does not come here; the nodes write it.
//
//	d, err := display.New(display.Config{Tasks: 4, Stdout: os.Stdout, Stderr: os.Stderr})
//	for each piece of output {
//		err = d.Show(output)
//	}
//	err = d.Close()
package display
