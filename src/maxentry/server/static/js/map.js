// The matrix as a heat map: tiles of the server on a canvas, with zoom, hover, keys and fingers.

import * as api from "./api.js";
import { Caption, SHOWN } from "./caption.js";
import { h, put } from "./dom.js";
import { label } from "./format.js";
import { cellSize, DOTTED, frame, grid, inks, paintCells, paintCursor, paintMarks, paintNames } from "./paint.js";
import { Pointer } from "./pointer.js";
import { cellOf, moved, showing, whole, zoomed } from "./view.js";

const CELLS = 250; // of a side; more would be smaller than anybody sees
export const KINDS = Object.keys(SHOWN);
const MARKED = ["pending", "failed"];

export class HeatMap {
  /** `chosen(entry)` hears of the entry that is pointed at (null: none), `pinned(entry)` of the one that is picked. */
  constructor(path, kind, { chosen, pinned, failed }) {
    Object.assign(this, { path, kind, chosen, pinned, failed });
    this.what = "mean";
    this.shape = [1, 1];
    this.view = null;
    this.cursor = null;
    this.hovered = null;
    this.layers = {};
    this.preview = [];
    this.build();
  }

  build() {
    this.cells = h("canvas", { class: "cells", "aria-hidden": "true" });
    this.marks = h("canvas", { class: "marks", "aria-hidden": "true" });
    this.stage = h(
      "div",
      { class: "stage", tabIndex: 0, role: "application", "aria-roledescription": "heat map", "aria-label": "Heat map of the matrix",
        "aria-describedby": "map-keys" },
      this.cells,
      this.marks,
    );
    this.buttons = KINDS.map((what, k) =>
      h("button", { type: "button", "aria-pressed": String(what === this.what), "data-what": what, title: `${this.kind.says(what, SHOWN[what].says)} (${k + 1})`,
        onclick: () => this.show(what) }, SHOWN[what].name),
    );
    this.caption = new Caption(this.kind);
    const zoom = (text, name, act) => h("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
    this.said = h("p", { class: "unseen", "aria-live": "polite" });
    this.element = h(
      "div",
      { class: "map" },
      h("div", { class: "tools" },
        h("div", { class: "segments", role: "group", "aria-label": "What the map shows" }, this.buttons),
        h("div", { class: "segments", role: "group", "aria-label": "Zoom" },
          zoom("−", "Zoom out (-)", () => this.zoom(2)), zoom("+", "Zoom in (+)", () => this.zoom(0.5)), zoom("All", "Show all (0)", () => this.all()))),
      h("div", { class: "stage-box" }, this.stage, this.caption.empty),
      this.caption.element,
      h("p", { class: "unseen", id: "map-keys" }, "Arrow keys move, plus and minus zoom, Enter picks an entry, 1 to 3 change what is shown, question mark for help."),
      this.said,
    );
    this.listen();
  }

  listen() {
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("focus", () => this.redraw());
    this.stage.addEventListener("blur", () => this.redraw());
    this.pointer = new Pointer(this.stage, {
      hover: (x, y) => this.hover(this.at(x, y)),
      leave: () => this.hover(null),
      tap: (x, y) => this.pick(this.at(x, y)),
      twice: (x, y) => this.view && this.zoom(0.5, this.point(x, y)),
      drag: (dx, dy) => this.drag(dx, dy),
      pinch: (factor, x, y) => this.view && this.zoom(factor, this.point(x, y)),
      zoomed: () => this.view !== null && this.view.some(([, size], k) => size < this.shape[k]),
    });
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.stage);
    this.scheme = () => this.draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.scheme);
    document.addEventListener("themechange", this.scheme);
  }

  close() {
    this.watch.disconnect();
    this.loading?.abort();
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.scheme);
    document.removeEventListener("themechange", this.scheme);
  }

  // What is shown

  /** The matrix has this shape; what was told or fitted may have changed. */
  update(shape) {
    const grown = shape.some((m, k) => m !== this.shape[k]);
    this.shape = shape;
    if (grown || !this.view) {
      this.view = whole(shape);
      this.stage.style.setProperty("--aspect", String(Math.min(1.1, Math.max(0.35, shape[0] / shape[1]))));
    }
    return this.load();
  }

  show(what) {
    this.what = what;
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button.dataset.what === what));
    return this.load();
  }

  /** Entries that would be next: [row, column] each. */
  suggest(entries) {
    this.preview = entries;
    this.redraw();
  }

  /** Fetch the tiles of what is in sight. What is on the screen stays there, stretched, until they come. */
  async load() {
    if (!this.view) return; // nothing is known yet of the matrix; `update` comes back
    this.loading?.abort();
    const { signal } = (this.loading = new AbortController());
    const [[row, rows], [col, cols]] = this.view;
    const { what } = this;
    const marked = SHOWN[what].fit ? ["observed", ...MARKED] : MARKED; // elsewhere it is what the cells show
    const tile = (kind) =>
      api.get(`${this.path}/map?what=${kind}&row=${row}&rows=${rows}&col=${col}&cols=${cols}&cells=${CELLS}&wait=0&stale=true`, { signal });
    try {
      const [main, ...marks] = await Promise.all([
        tile(what).catch((error) => (error.status === 409 ? null : Promise.reject(error))),
        ...marked.map(tile),
      ]);
      if (signal.aborted) return;
      // A job, rather than a tile, where the first fit is still on its way.
      const tiles = marked.map((mark, k) => [mark, marks[k]]);
      this.caption.dots.hidden = true; // until some are drawn
      this.layers = { main: main && main.values ? main : null, coming: main !== null, marks: tiles, what };
      this.element.dataset.loaded = `${what} ${this.layers.main?.fit?.version ?? ""}`.trim();
      this.caption.say(this.layers, this.limits(), this.view, this.shape);
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
    }
  }

  limits() {
    const { main, what } = this.layers;
    if (!main || main.least === null) return [0, 1];
    const range = this.kind.range(what);
    if (range) return range;
    return SHOWN[what].scale === "value" ? [main.least, main.greatest] : [0, Math.max(main.greatest, 1e-12)];
  }

  // Drawing

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.cells, this.marks]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.draw();
  }

  get basis() {
    return this.layers.main ?? this.layers.marks?.[0]?.[1] ?? null;
  }

  draw() {
    const tile = this.basis;
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width) return;
    const context = this.cells.getContext("2d");
    context.clearRect(0, 0, width, height);
    this.ink = inks(this.element);
    this.area = frame(width, height, tile, context);
    this.element.area = this.area; // for whoever looks at the map from outside, as tests do
    if (tile) {
      const places = grid(tile, this.view, this.area);
      const shown = this.layers.main ?? { ...tile, values: [] };
      paintCells(context, shown, places, this.area, SHOWN[this.layers.what].scale, this.limits(), this.ink);
      paintNames(context, tile, places, this.area, this.ink);
      this.element.dataset.cell = String(Math.round(cellSize(places)));
    }
    this.redraw();
  }

  /** Marks and cursor alone, which move without new cells. */
  redraw() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const context = this.marks.getContext("2d");
    context.clearRect(0, 0, width, height);
    if (!this.area || !this.layers.marks) return;
    context.save();
    context.beginPath();
    context.rect(this.area.x - 3, this.area.y - 3, this.area.width + 6, this.area.height + 6);
    context.clip();
    for (const [kind, tile] of this.layers.marks) {
      const places = grid(tile, this.view, this.area);
      const dots = kind === "observed";
      if (dots) this.caption.dots.hidden = tile.binned || cellSize(places) < DOTTED;
      if (!dots || !this.caption.dots.hidden) paintMarks(context, tile, places, kind);
    }
    const pending = this.layers.marks.find(([kind]) => kind === "pending")?.[1];
    this.caption.ring(pending?.values.some((line) => line.some(Boolean)), this.preview.length > 0);
    for (const [i, j] of this.preview) {
      const one = { values: [[1]], row_starts: [i], rows: [i, i + 1], col_starts: [j], cols: [j, j + 1] };
      paintMarks(context, one, grid(one, this.view, this.area), "next");
    }
    if (this.cursor) paintCursor(context, this.cursor, this.view, this.area, this.ink);
    context.restore();
  }

  // Pointing

  /** The place on the map, in rows and columns, below a point of the stage. */
  point(x, y) {
    const share = [(y - this.area.y) / this.area.height, (x - this.area.x) / this.area.width];
    return this.view.map(([first, size], k) => first + share[k] * size);
  }

  /** The entry below a point; null beside the map. */
  at(x, y) {
    if (!this.area || !this.view) return null;
    const entry = this.point(x, y).map(Math.floor);
    const inside = entry.every((at, k) => at >= this.view[k][0] && at < this.view[k][0] + this.view[k][1]);
    return inside ? entry : null;
  }

  /** What the cell that holds an entry says: its rows and columns, and the number that is shown. */
  cell([i, j]) {
    const tile = this.basis;
    if (!tile) return null;
    const r = cellOf(tile.row_starts, i);
    const c = cellOf(tile.col_starts, j);
    const ends = (starts, k, end) => [starts[k], (k + 1 < starts.length ? starts[k + 1] : end) - 1];
    const rows = ends(tile.row_starts, r, tile.rows[1]);
    const cols = ends(tile.col_starts, c, tile.cols[1]);
    return {
      rows, cols, single: rows[0] === rows[1] && cols[0] === cols[1],
      row: label(tile.row_labels[r]), col: label(tile.col_labels[c]),
      what: this.layers.what, name: SHOWN[this.layers.what].name, value: this.layers.main?.values[r]?.[c] ?? null,
    };
  }

  hover(entry) {
    const same = entry && this.hovered && entry.every((x, k) => x === this.hovered[k]);
    if (same || (!entry && !this.hovered)) return;
    this.hovered = entry;
    this.chosen(entry && this.basis ? { entry, cell: this.cell(entry), place: this.place(entry) } : null);
  }

  /** Where an entry is on the screen, within the stage. */
  place(entry) {
    const { area, view } = this;
    return {
      x: area.x + ((entry[1] + 0.5 - view[1][0]) * area.width) / view[1][1],
      y: area.y + ((entry[0] + 0.5 - view[0][0]) * area.height) / view[0][1],
    };
  }

  pick(entry) {
    if (!entry) return;
    this.cursor = entry;
    this.redraw();
    this.pinned(entry);
  }

  /** Bring an entry into sight, close enough to be seen, and pick it. */
  goTo(entry) {
    if (!this.view) return;
    const near = this.view.map(([first, size], k) => [first, Math.min(size, 60, this.shape[k])]);
    this.view = showing(near, this.shape, entry).map(([first, size], k) => {
      const seen = entry[k] >= this.view[k][0] && entry[k] < this.view[k][0] + this.view[k][1] && size === this.view[k][1];
      return seen ? this.view[k] : moved([[entry[k] - size / 2, size]], [this.shape[k]], [0])[0];
    });
    this.pick(entry);
    this.stage.scrollIntoView({ block: "nearest" });
    return this.load();
  }

  // Moving

  zoom(factor, at = null) {
    if (!this.view) return;
    const middle = this.view.map(([first, size]) => first + size / 2);
    const focus = at ?? (this.cursor ? this.cursor.map((x) => x + 0.5) : middle);
    this.change(zoomed(this.view, this.shape, factor, focus));
  }

  all() {
    if (this.view) this.change(whole(this.shape));
  }

  drag(dx, dy) {
    if (!this.view) return;
    const by = [(-dy * this.view[0][1]) / this.area.height, (-dx * this.view[1][1]) / this.area.width];
    this.carried = (this.carried ?? [0, 0]).map((x, k) => x + by[k]);
    const steps = this.carried.map(Math.trunc);
    this.carried = this.carried.map((x, k) => x - steps[k]);
    if (steps.some(Boolean)) this.change(moved(this.view, this.shape, steps));
  }

  change(view) {
    if (view.every((side, k) => side[0] === this.view[k][0] && side[1] === this.view[k][1])) return;
    this.view = view;
    this.draw();
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.load(), 80);
  }

  key(event) {
    const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const acts = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.all(), Home: () => this.all(),
      Enter: () => this.cursor && this.pick(this.cursor), " ": () => this.cursor && this.pick(this.cursor),
      PageDown: () => this.change(moved(this.view, this.shape, [this.view[0][1], 0])),
      PageUp: () => this.change(moved(this.view, this.shape, [-this.view[0][1], 0])),
      Escape: () => this.leave(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !this.view) return;
    if (arrows[event.key]) this.step(arrows[event.key], event.shiftKey);
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Move the cursor by a cell (ten with Shift), the view with it. */
  step(by, far) {
    const tile = this.basis;
    if (!tile) return;
    const middle = this.view.map(([first, size]) => first + Math.floor((size - 1) / 2));
    const cell = this.cell(this.cursor ?? middle);
    const width = cell ? [cell.rows[1] - cell.rows[0] + 1, cell.cols[1] - cell.cols[0] + 1] : [1, 1];
    const m = this.shape;
    const next = (x, k) => Math.min(m[k] - 1, Math.max(0, x + by[k] * width[k] * (far ? 10 : 1)));
    this.cursor = this.cursor ? this.cursor.map(next) : middle;
    this.change(showing(this.view, m, this.cursor));
    this.redraw();
    const here = this.cell(this.cursor);
    this.hovered = this.cursor;
    put(this.said, here ? `row ${here.row}, column ${here.col}: ${here.name} ${this.kind.shown(here.what, here.value)}` : "");
    this.chosen({ entry: this.cursor, cell: here, place: this.place(this.cursor) });
  }

  leave() {
    this.cursor = null;
    this.redraw();
    this.chosen(null);
    this.pinned(null);
  }
}
