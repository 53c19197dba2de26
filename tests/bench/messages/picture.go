package messages

import (
	"bufio"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The picture has a panel for each path and measure; both axes are logarithmic.
const (
	panelWidth, panelHeight = 760, 480
	marginLeft, marginRight = 60, 20
	marginTop, marginBottom = 40, 40
	legendStep              = 16
	lineWidth               = 2.0
	dot                     = 2.5
)

// palette has colours that also the colour-blind tell apart (Okabe and Ito), those of the library
// first.
var palette = []color.RGBA{
	{0xd5, 0x5e, 0x00, 0xff},
	{0xe6, 0x9f, 0x00, 0xff},
	{0xcc, 0x79, 0xa7, 0xff},
	{0xb8, 0xa8, 0x30, 0xff},
	{0x00, 0x72, 0xb2, 0xff},
	{0x56, 0xb4, 0xe9, 0xff},
	{0x00, 0x9e, 0x73, 0xff},
	{0x60, 0x60, 0x60, 0xff},
}

var (
	ink   = color.RGBA{0x20, 0x20, 0x20, 0xff}
	faint = color.RGBA{0xe0, 0xe0, 0xe0, 0xff}
)

var panelTitles = map[string]string{
	measureLatency:   "one way, us",
	measureBandwidth: "streaming, GB/s",
}

var pathTitles = map[Path]string{Shm: "inside a node", UDP: "UDP (peers: TCP) over loopback"}

// WritePicture draws the medians into a PNG file.
func (c *Chart) WritePicture(file string) error {
	img := image.NewRGBA(image.Rect(0, 0, 2*panelWidth, 2*panelHeight))
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	names := c.names()
	for column, path := range []Path{Shm, UDP} {
		for row, measure := range []string{measureLatency, measureBandwidth} {
			p := panel{img: img, at: image.Pt(column*panelWidth, row*panelHeight), names: names, sizes: c.sizes()}
			p.draw(pathTitles[path]+": "+panelTitles[measure], c.of(path, measure))
		}
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	if err := png.Encode(w, img); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// names of all programs, those of the library first, which has colours of one kind.
func (c *Chart) names() (names []string) {
	for _, l := range c.lines {
		if !slices.Contains(names, l.name) {
			names = append(names, l.name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return rankOfName(a) - rankOfName(b) })
	return names
}

// sizes returns the sizes of the curves, up to the longest that was measured.
func (c *Chart) sizes() []int {
	largest := Sizes[len(Sizes)-1]
	for _, l := range c.lines {
		largest = max(largest, l.points[len(l.points)-1].size)
	}
	return LongSizes[:slices.Index(LongSizes, largest)+1]
}

func rankOfName(name string) int {
	order := []string{
		"score", "score, not immediate", "score, no overlap", "score, neither", "ofi", "tag", "tag, windows", "uct", "pm",
		"ucx", "mpich", "openmpi", "bare",
	}
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

func (c *Chart) of(path Path, measure string) (lines []line) {
	for _, l := range c.lines {
		if l.path == path && l.measure == measure {
			lines = append(lines, l)
		}
	}
	return lines
}

// panel is one of the diagrams.
type panel struct {
	img       *image.RGBA
	at        image.Point
	names     []string
	sizes     []int   // of the horizontal axis
	low, high float64 // of the vertical axis: powers of ten
}

func (p *panel) draw(title string, lines []line) {
	p.text(marginLeft, 20, title, ink)
	if len(lines) == 0 {
		return
	}
	p.scale(lines)
	p.grid()
	for i := range lines {
		l := lines[len(lines)-1-i] // the library last, on top
		tint := palette[slices.Index(p.names, l.name)%len(palette)]
		for j, at := range l.points {
			x, y := p.place(at.size, at.median)
			p.box(x-dot, y-dot, x+dot, y+dot, tint)
			if j > 0 {
				x0, y0 := p.place(l.points[j-1].size, l.points[j-1].median)
				p.stroke(x0, y0, x, y, lineWidth, tint)
			}
		}
	}
	p.legend(lines)
}

func (p *panel) scale(lines []line) {
	p.low, p.high = math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, at := range l.points {
			p.low, p.high = min(p.low, at.median), max(p.high, at.median)
		}
	}
	p.low = math.Pow(10, math.Floor(math.Log10(p.low)))
	p.high = math.Pow(10, math.Ceil(math.Log10(p.high)))
	if p.high <= p.low {
		p.high = 10 * p.low
	}
}

// place is where a value is, in pixels of the panel.
func (p *panel) place(size int, value float64) (x, y float64) {
	first, last := math.Log2(float64(p.sizes[0])), math.Log2(float64(p.sizes[len(p.sizes)-1]))
	x = marginLeft + (math.Log2(float64(size))-first)/(last-first)*(panelWidth-marginLeft-marginRight)
	share := math.Log10(value/p.low) / math.Log10(p.high/p.low)
	return x, panelHeight - marginBottom - share*(panelHeight-marginTop-marginBottom)
}

func (p *panel) grid() {
	left, bottom := p.place(p.sizes[0], p.low)
	right, top := p.place(p.sizes[len(p.sizes)-1], p.high)
	for decade := p.low; decade < p.high*1.01; decade *= 10 {
		_, y := p.place(p.sizes[0], decade)
		p.stroke(left, y, right, y, 1, faint)
		p.text(8, int(y)+4, fmt.Sprintf("%g", decade), ink)
	}
	for _, size := range p.sizes {
		x, _ := p.place(size, p.low)
		p.stroke(x, bottom, x, top, 1, faint)
		label := fmt.Sprint(size)
		switch {
		case size >= 1<<20:
			label = fmt.Sprintf("%dMi", size>>20)
		case size >= 1<<10:
			label = fmt.Sprintf("%dKi", size>>10)
		}
		p.text(int(x)-len(label)*7/2, int(bottom)+18, label, ink)
	}
	p.stroke(left, bottom, right, bottom, 1, ink)
	p.stroke(left, bottom, left, top, 1, ink)
}

func (p *panel) legend(lines []line) {
	y := marginTop + legendStep
	for i, name := range p.names {
		if !slices.ContainsFunc(lines, func(l line) bool { return l.name == name }) {
			continue
		}
		p.stroke(marginLeft+12, float64(y-4), marginLeft+32, float64(y-4), 2*lineWidth, palette[i%len(palette)])
		p.text(marginLeft+40, y, name, ink)
		y += legendStep
	}
}

func (p *panel) text(x, y int, s string, tint color.Color) {
	d := font.Drawer{Dst: p.img, Src: image.NewUniform(tint), Face: basicfont.Face7x13, Dot: fixed.P(p.at.X+x, p.at.Y+y)}
	d.DrawString(s)
}

func (p *panel) box(x0, y0, x1, y1 float64, tint color.Color) {
	p.fill(tint, [][2]float64{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}})
}

// stroke draws a straight line as the rectangle that it is.
func (p *panel) stroke(x0, y0, x1, y1, width float64, tint color.Color) {
	length := math.Hypot(x1-x0, y1-y0)
	if length == 0 {
		return
	}
	dx, dy := (y1-y0)/length*width/2, -(x1-x0)/length*width/2
	p.fill(tint, [][2]float64{{x0 + dx, y0 + dy}, {x1 + dx, y1 + dy}, {x1 - dx, y1 - dy}, {x0 - dx, y0 - dy}})
}

func (p *panel) fill(tint color.Color, corners [][2]float64) {
	r := vector.NewRasterizer(panelWidth, panelHeight)
	r.MoveTo(float32(corners[0][0]), float32(corners[0][1]))
	for _, c := range corners[1:] {
		r.LineTo(float32(c[0]), float32(c[1]))
	}
	r.ClosePath()
	area := image.Rectangle{Min: p.at, Max: p.at.Add(image.Pt(panelWidth, panelHeight))}
	r.Draw(p.img, area, image.NewUniform(tint), image.Point{})
}
