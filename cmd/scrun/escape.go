package main

// escapes finds the escape sequences in the input of rank 0's terminal, like ssh's: at the
// beginning of a line, ~. ends the job, and ~~ stands for one ~. It is a machine without I/O.
type escapes struct {
	within bool // something of the present line was typed
	tilde  bool // a ~ began the line, and waits for what follows
}

// feed returns the input for the program, and whether the job shall end. It drops input after that.
func (e *escapes) feed(typed []byte) (input []byte, end bool) {
	input = make([]byte, 0, len(typed)+1)
	for _, key := range typed {
		switch {
		case e.tilde && key == '.':
			e.tilde = false
			return input, true
		case e.tilde && key != '~':
			input = append(input, '~')
		case !e.tilde && !e.within && key == '~':
			e.tilde = true
			continue
		}
		e.tilde, e.within = false, key != '\r' && key != '\n'
		input = append(input, key)
	}
	return input, false
}
