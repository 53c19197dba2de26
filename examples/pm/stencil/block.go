package main

import "fmt"

// layout describes how the plate is cut into blocks: their numbers across and down.
type layout struct {
	across, down int
	size         int
}

// layOut returns the layout with the squarest blocks that the number of ranks allows.
func layOut(ranks, size int) (layout, error) {
	across := 1
	for d := 1; d*d <= ranks; d++ {
		if ranks%d == 0 {
			across = d
		}
	}
	l := layout{across: across, down: ranks / across, size: size}
	if size < l.down {
		return l, fmt.Errorf("a plate of %d cells is too small for %d blocks; use a larger -size", size, l.down)
	}
	return l, nil
}

// block is a rank's part of the plate with an edge of its neighbours' cells around it.
type block struct {
	left, top     int // of its first cell
	width, height int
	old, new      []float64
	neighbours    [4]int // ranks: above, below, left, right; -1 at the plate's edge
}

const (
	above = iota
	below
	leftward
	rightward
)

func (l layout) block(rank int) *block {
	col, line := rank%l.across, rank/l.across
	b := &block{left: col * l.size / l.across, top: line * l.size / l.down}
	b.width = (col+1)*l.size/l.across - b.left
	b.height = (line+1)*l.size/l.down - b.top
	at := func(col, line int) int {
		if col < 0 || line < 0 || col >= l.across || line >= l.down {
			return -1
		}
		return line*l.across + col
	}
	b.neighbours = [4]int{at(col, line-1), at(col, line+1), at(col-1, line), at(col+1, line)}
	b.allocate()
	return b
}

func (b *block) allocate() {
	b.old = make([]float64, (b.width+2)*(b.height+2))
	b.new = make([]float64, len(b.old))
}

// stride returns the distance between two rows.
func (b *block) stride() int { return b.width + 2 }

// row returns row y of the block, from 1; rows 0 and height+1 are the neighbours'.
func (b *block) row(y int) []float64 {
	at := y*b.stride() + 1
	return b.old[at : at+b.width]
}

func (b *block) column(x int) []float64 {
	col := make([]float64, b.height)
	for y := range col {
		col[y] = b.old[(y+1)*b.stride()+x]
	}
	return col
}

func (b *block) setColumn(x int, col []float64) {
	for y, v := range col {
		b.old[(y+1)*b.stride()+x] = v
	}
}

// heat sets the plate's upper edge to 100 degrees, the cells to something uneven.
func (b *block) heat(size int) {
	if b.top == 0 {
		for x := range b.row(0) {
			b.row(0)[x] = 100
		}
		copy(b.new, b.old[:b.stride()])
	}
	for y := 1; y <= b.height; y++ {
		for x := range b.row(y) {
			b.row(y)[x] = float64((b.left+x)*31+(b.top+y)*17%size) / float64(size)
		}
	}
}

// step makes each cell the mean of its neighbours.
func (b *block) step() {
	s := b.stride()
	for y := 1; y <= b.height; y++ {
		up, row, down := b.old[(y-1)*s:y*s], b.old[y*s:(y+1)*s], b.old[(y+1)*s:(y+2)*s]
		to := b.new[y*s : (y+1)*s]
		for x := 1; x <= b.width; x++ {
			to[x] = 0.25 * (up[x] + down[x] + row[x-1] + row[x+1])
		}
	}
	b.old, b.new = b.new, b.old
}
