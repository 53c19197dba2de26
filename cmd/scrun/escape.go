package main

// escapes finds the escape sequences in input for rank 0's terminal, like those of ssh: at the
// beginning of a line, ~. ends the job, and ~~ stands for one ~. It does no I/O.
type escapes struct {
	within bool // the present line has characters
	tilde  bool // a ~ began the line, and the next character decides
}

// feed processes typed characters. It returns the input for the program, and whether the job must
// end; then it drops the characters after the escape.
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
