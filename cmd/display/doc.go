// Package display shows the output of a job's ranks: on scrun's own standard
// output and error, or in files, by whole lines that do not mix.
//
// It holds no more than one begun line of each stream, and its caller waits
// while a terminal or pipe takes nothing. It is not for detached jobs, whose
// output the nodes write.
//
//	d, err := display.New(display.Config{Tasks: 4, Stdout: os.Stdout, Stderr: os.Stderr})
//	for each piece of output {
//		err = d.Show(output)
//	}
//	err = d.Close()
package display
