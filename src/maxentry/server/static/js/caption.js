// What a map shows, in words: its colours, its rows and columns, and why it is empty.

import { h, put } from "./dom.js";
import { count, several } from "./format.js";
import { drawScale } from "./scale.js";

export const SHOWN = {
  mean: { name: "Estimate", scale: "value", says: "best guess of every entry", fit: true },
  sd: { name: "Uncertainty", scale: "uncertainty", says: "standard deviation: how far the estimate may be off", fit: true },
  value: { name: "Measured", scale: "value", says: "measured values, and the next batch", fit: false },
};

/** What a cell says where it stands for several entries, if it is not their average. */
const CELL = {
  sd: "each cell is the root mean square over several entries",
  width: "each cell is the root mean square over several entries",
  value: "each cell is the mean of those measured among several entries",
};

export class Caption {
  constructor(kind) {
    this.kind = kind;
    this.where = h("span", { class: "note" });
    this.empty = h("p", { class: "empty", hidden: true });
    this.legend = h("canvas", { width: 160, height: 10, "aria-hidden": "true" });
    this.ends = [h("span"), h("span")];
    this.says = h("span", { class: "note" });
    this.dots = h("span", { class: "note", hidden: true }, "dots: measured");
    this.rings = h("span", { class: "note", hidden: true });
    this.element = h("div", { class: "legend" }, h("span", { class: "scale" }, this.ends[0], this.legend, this.ends[1]), this.says, this.dots, this.rings, this.where);
  }

  /** Name the rings that are drawn. */
  ring(pending, next) {
    put(this.rings, [pending && "rings: pending", next && "dashed rings: would be next"].filter(Boolean).join(", "));
    this.rings.hidden = !pending && !next;
  }

  say({ main, what, coming }, [least, greatest], [[row, rows], [col, cols]], shape) {
    const shown = SHOWN[what];
    const nothing = coming ? "The first fit is running …" : "No measurements yet. Ask for entries, then enter their values.";
    this.empty.textContent = main || !shown.fit ? "" : nothing;
    this.empty.hidden = this.empty.textContent === "";
    const known = main !== null && main.least !== null;
    put(this.ends[0], known ? this.kind.end(what, least) : "");
    put(this.ends[1], known ? this.kind.end(what, greatest) : "");
    this.legend.hidden = !known;
    drawScale(this.legend, shown.scale);
    const stale = main?.fit && !main.fit.current ? " (of the last fit; a new one is running)" : "";
    put(this.says, this.kind.says(what, shown.says) + stale);
    const side = (first, n, m, name) => (n === m ? `all ${several(m, name)}` : `${name}s ${count(first + 1)}–${count(first + n)} of ${count(m)}`);
    const cells = main?.binned ? `; ${CELL[main.what] ?? "each cell is the average of several entries"}` : "";
    put(this.where, `${side(row, rows, shape[0], "row")}, ${side(col, cols, shape[1], "column")}${cells}`);
  }
}
