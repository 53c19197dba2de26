package main

import (
	"bytes"
	"fmt"
	"io"
	"score/gang"
)

// Sizes in the picture, in pixels.
const (
	cell    = 34
	gap     = 14 // between nodes
	rowGap  = 12
	left    = 96
	top     = 48
	right   = 24
	bottom  = 82
	radius  = 5
	swatch  = 12
	spacing = 118 // of the legend's entries
)

var colours = []string{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"}

func colourOf(id gang.JobID) string { return colours[(int(id)-1)%len(colours)] }

func xOf(node, cpu int) int { return left + node*(cpusPerNode*cell+gap) + cpu*cell }

func yOf(row int) int { return top + row*(cell+rowGap) }

// draw writes the matrix as SVG: a column for each CPU, a line for each time slot.
func draw(out io.Writer, matrix gang.Snapshot) error {
	var b bytes.Buffer
	width := xOf(len(matrix.Nodes), 0) - gap + right
	height := yOf(len(matrix.Rows)) + bottom
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `,
		width, height, width, height)
	fmt.Fprintln(&b, `font-family="sans-serif" font-size="13" fill="#333">`)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height)
	for i, node := range matrix.Nodes {
		text(&b, xOf(i, 0)+cpusPerNode*cell/2, top-28, "middle", "node "+string(node.ID))
		for cpu := range cpusPerNode {
			text(&b, xOf(i, cpu)+cell/2, top-10, "middle", fmt.Sprint(cpu))
		}
	}
	text(&b, left-16, top-10, "end", "CPU")
	for i, row := range matrix.Rows {
		text(&b, left-16, yOf(i)+cell/2+5, "end", fmt.Sprintf("slice %d", i+1))
		drawRow(&b, yOf(i), row)
	}
	legend(&b, yOf(len(matrix.Rows))+14)
	fmt.Fprintln(&b, "</svg>")
	_, err := out.Write(b.Bytes())
	return err
}

func drawRow(b *bytes.Buffer, y int, row gang.RowState) {
	for node, cpus := range row.CPUs {
		for cpu, state := range cpus {
			fill, opacity := "#eee", "1"
			if state.Job != 0 {
				fill = colourOf(state.Job)
			}
			if state.Guest {
				opacity = "0.55"
			}
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d" fill="%s" opacity="%s"/>`+"\n",
				xOf(node, cpu)+1, y, cell-2, cell, radius, fill, opacity)
			if state.Job != 0 {
				fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#fff">%d</text>`+"\n",
					xOf(node, cpu)+cell/2, y+cell/2+5, state.Job)
			}
		}
	}
}

// legend names the jobs.
func legend(b *bytes.Buffer, y int) {
	for i, j := range jobs {
		x := left + i*spacing
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`+"\n", x, y, swatch, swatch, colourOf(gang.JobID(i+1)))
		text(b, x+swatch+6, y+swatch-1, "start", fmt.Sprintf("%s: -n %d -N %d", j.user, j.tasks, j.nodes))
	}
	text(b, left, y+36, "start", fmt.Sprintf("Slices of %v follow each other. All ranks of a job run in the same slice.", sliceLength))
	text(b, left, y+54, "start", "Pale: a job that runs in a further slice, because its CPUs are free there.")
}

func text(b *bytes.Buffer, x, y int, anchor, text string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, text)
}
