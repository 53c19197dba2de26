package bfrops

// Apps reads a number of commands and then the commands of a spawn.
func (r *Reader) Apps() []App {
	const minBytes = 6 // bytes of an empty command
	n := r.number(minBytes)
	if n == 0 || r.err != nil {
		return nil
	}
	r.Count(n)
	apps := make([]App, 0, n)
	for range n {
		apps = append(apps, r.app())
		if r.err != nil {
			return nil
		}
	}
	return apps
}

func (r *Reader) app() App {
	var a App
	a.Command, _ = r.text()
	r.mark(formInt)
	a.Args = r.texts(r.signed(4))
	a.Env = r.texts(r.signed(4))
	a.Dir, _ = r.text()
	r.mark(formInt)
	a.MaxProcs = r.signed(4)
	a.Infos = r.infos(r.bounded(r.size(), 3))
	return a
}

func (r *Reader) texts(n int64) []string {
	if n < 0 {
		r.malformed("a negative number of strings")
		return nil
	}
	count := r.bounded(uint64(n), 1)
	texts := make([]string, 0, count)
	for range count {
		text, _ := r.text()
		texts = append(texts, text)
		if r.err != nil {
			return nil
		}
	}
	return texts
}

// Apps packs a number of commands and then the commands.
func (w *Writer) Apps(apps []App) {
	w.Size(len(apps))
	if len(apps) == 0 {
		return
	}
	w.Count(len(apps))
	for i := range apps {
		w.app(&apps[i])
	}
}

func (w *Writer) app(a *App) {
	w.text(a.Command)
	w.mark(formInt)
	w.texts(a.Args)
	w.texts(a.Env)
	w.textOrNull(a.Dir, a.Dir == "")
	w.mark(formInt)
	w.signed(a.MaxProcs, 4)
	w.size(uint64(len(a.Infos)))
	w.infos(a.Infos)
}

func (w *Writer) texts(texts []string) {
	w.signed(int64(len(texts)), 4)
	for _, text := range texts {
		w.text(text)
	}
}
