package pm

// linkedIntoProgram does nothing: its name in a program's table of functions, which stays when
// the program is stripped, tells scrun that the ranks will open channels (cmd/scrun/linked).
//
//go:noinline
func linkedIntoProgram() {}

func init() { linkedIntoProgram() } // else the linker would leave it out
