// One entry: its prediction, asks and measurements; a summary at the pointer, all of it beside the map.

import * as api from "./api.js";
import { cancel, dialog, field, h, put, toast } from "./dom.js";
import { count, label, moment, number, several } from "./format.js";
import { author } from "./author.js";
import { withPoint } from "./line.js";
import { RowAsker } from "./row.js";

const KEPT = 300; // entries that need not be asked for again
const PATIENCE = 120; // milliseconds that the pointer must rest

/** Fetches entries, each once for a version of the campaign. */
export class Entries {
  constructor(path) {
    this.path = path;
    this.known = new Map();
  }

  forget() {
    this.known.clear();
  }

  get([i, j]) {
    const key = `${i},${j}`;
    if (!this.known.has(key)) {
      if (this.known.size >= KEPT) this.known.delete(this.known.keys().next().value);
      const coming = api.get(`${this.path}/cell?row=${i}&col=${j}`);
      coming.catch(() => this.known.delete(key));
      this.known.set(key, coming);
    }
    return this.known.get(key);
  }
}

function state(found) {
  const pending = found.asks.find((ask) => ask.status === "pending");
  if (pending) return `pending as id ${pending.id}`;
  if (!found.may_be_measured) return "cannot be measured";
  const last = found.asks[found.asks.length - 1];
  return last && last.status !== "told" && !found.measurements.length ? last.status : "";
}

/** The summary at the pointer. */
export class Tooltip {
  constructor(entries, kind) {
    Object.assign(this, { entries, kind });
    this.element = h("div", { class: "tooltip", role: "tooltip", hidden: true });
  }

  /** Show the map's value at once, and the rest when it has arrived. */
  show(pointed) {
    clearTimeout(this.soon);
    this.pointed = pointed;
    if (!pointed?.cell) {
      this.element.hidden = true;
      return;
    }
    const { cell, entry } = pointed;
    put(this.element, cell.single ? this.title(cell.row, cell.col) : this.several(cell));
    this.place();
    if (!cell.single) return;
    this.element.append(h("p", {}, `${cell.name}: ${this.kind.shown(cell.what, cell.value)}`));
    this.soon = setTimeout(async () => {
      try {
        const found = await this.entries.get(entry);
        if (this.pointed === pointed) this.fill(found);
      } catch {
        // What the map says stands there already.
      }
    }, PATIENCE);
  }

  title(row, col) {
    return h("p", {}, h("strong", {}, row), " · ", h("strong", {}, col));
  }

  several(cell) {
    const n = (cell.rows[1] - cell.rows[0] + 1) * (cell.cols[1] - cell.cols[0] + 1);
    return [
      this.title(`${cell.row} …`, `${cell.col} …`),
      h("p", {}, `${cell.name}: ${this.kind.shown(cell.what, cell.value)}`),
      h("p", { class: "note" }, `${count(n)} entries (rows ${count(cell.rows[0] + 1)}–${count(cell.rows[1] + 1)}, columns ${count(cell.cols[0] + 1)}–${count(cell.cols[1] + 1)}); zoom in for each`),
    ];
  }

  fill(found) {
    const told = found.measurements.slice(-4).map((m) => h("li", {}, `${this.kind.measured(m, 4)}, ${m.who ?? "?"}, ${moment(m.told_at)}`));
    const more = found.measurements.length > 4 ? h("li", {}, `and ${found.measurements.length - 4} before`) : null;
    put(
      this.element,
      this.title(label(found.row), label(found.col)),
      found.believed ? h("p", {}, `${this.kind.guessName}: ${this.kind.guess(found.believed.mean, found.believed.sd)}`) : null,
      told.length ? h("ul", {}, told, more) : h("p", { class: "note" }, "not measured"),
      state(found) ? h("p", { class: "note" }, state(found)) : null,
    );
    this.place();
  }

  /** Beside the entry, within the stage. */
  place() {
    this.element.hidden = false;
    const box = this.element.parentElement.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const { x, y } = this.pointed.place;
    const left = x + 18 + width > box.width ? x - 18 - width : x + 18;
    this.element.style.left = `${Math.max(0, Math.min(left, box.width - width))}px`;
    this.element.style.top = `${Math.max(0, Math.min(y + 14, box.height - height))}px`;
  }
}

/** The panel beside the map: the selected entry, its history, and what can be done about it. */
export class Panel {
  constructor(path, entries, kind, { changed, closed }) {
    Object.assign(this, { path, entries, kind, changed, closed });
    this.entry = null;
    this.asker = new RowAsker(path, changed);
    this.element = h("section", { class: "panel card", "aria-label": "Selected entry", hidden: true });
  }

  async show(entry) {
    const same = entry && this.entry && entry.every((x, k) => x === this.entry[k]);
    if (!same) this.value = this.kind.box({ size: 8, required: true }); // what is typed outlives a fit
    this.entry = entry;
    this.element.hidden = entry === null;
    if (entry === null) return;
    try {
      const found = await this.entries.get(entry);
      if (this.entry === entry) this.fill(found);
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  fill(found) {
    const known = found.believed;
    const facts = known
      ? [[this.kind.guessName, this.kind.guess(known.mean, known.sd)], ...this.kind.grades(known), ["90% interval", this.kind.interval(known.low, known.high)],
         ["a new measurement", this.kind.reading(known.new_low, known.new_high)], ["cost", number(found.cost)]]
      : [["believed", "nothing yet"], ["cost", number(found.cost)]];
    const { value } = this;
    const typing = this.element.contains(document.activeElement) ? document.activeElement : null;
    this.asker.show(found.row);
    const tell = h("form", { class: "inline write", onsubmit: (event) => this.tell(event, found, value) },
      field(found.measurements.length ? "Measured again" : "Measured value", value, `${this.kind.hint}.`), h("button", {}, "Save value"));
    const close = h("button", { type: "button", class: "quiet close", "aria-label": "Close", onclick: () => this.closed() }, "✕");
    put(
      this.element,
      h("h3", {}, label(found.row), " · ", label(found.col)),
      close,
      h("dl", { class: "pairs" }, facts.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
      known && !found.fit.current ? h("p", { class: "note" }, "From the last fit; a new one is running.") : null,
      h("h4", {}, "History of this entry"),
      this.story(found),
      found.may_be_measured ? tell : h("p", { class: "note" }, "It cannot be measured."),
      this.asker.element,
    );
    typing?.focus();
  }

  story(found) {
    const asked = found.asks.map((ask) => [ask.asked_at, `asked for as id ${ask.id}, ${ask.who ?? "?"}${ask.status === "told" ? "" : `: ${ask.status}`}${ask.reason ? ` (${ask.reason})` : ""}`, null]);
    const told = found.measurements.map((m) => [m.told_at, `${this.kind.measured(m, 6)}${m.corrected ? ` (was ${m.before_text.join(", ")})` : ""}, entered by ${m.who ?? "?"}`, m]);
    const all = [...asked, ...told].sort((a, b) => a[0].localeCompare(b[0]));
    if (!all.length) return h("p", { class: "note" }, "Neither asked for nor measured.");
    return h("ol", { class: "story" }, all.map(([at, text, m]) => h("li", {}, text, h("small", { class: "note" }, moment(at)), m && m.value !== null ? this.corrector(m) : null)));
  }

  corrector(m) {
    return h("button", { type: "button", class: "link write", onclick: () => this.correct(m) }, "correct …");
  }

  correct(m) {
    const value = this.kind.box({ value: m.text });
    const reason = h("input", { type: "text", maxLength: 2000, autocomplete: "off" });
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const send = async (to) => {
      try {
        await api.write(`${this.path}/correct`, { number: m.number, value: to, reason: reason.value, who: await author() });
        box.close();
        toast(to === null ? "Struck out." : "Corrected.");
        this.changed();
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    };
    const form = h("form", { onsubmit: (event) => (event.preventDefault(), send(this.kind.words.length ? value.value.trim() : withPoint(value.value))) },
      field("The right value", value, `${this.kind.hint}.`), field("Reason", reason, "For the history, which keeps the old value too."), problem,
      h("div", { class: "actions" }, cancel(), h("button", { type: "button", onclick: () => send(null) }, "Strike out"), h("button", { class: "primary" }, "Correct")));
    const box = dialog(`Correct ${several(1, "measurement")} (number ${m.number})`, form);
    value.select();
  }

  async tell(event, found, input) {
    event.preventDefault();
    const button = event.target.querySelector("button");
    button.disabled = true; // a second press would be a second measurement
    try {
      const line = { row: found.row, col: found.col, value: this.kind.words.length ? input.value.trim() : withPoint(input.value) };
      const body = { lines: [line], again: found.measurements.length > 0, who: await author() };
      await api.write(`${this.path}/tell`, body, { key: api.newKey() });
      toast("Saved.");
      input.value = "";
      this.changed();
    } catch (error) {
      toast(error.message, "bad");
    } finally {
      button.disabled = false;
    }
  }
}
