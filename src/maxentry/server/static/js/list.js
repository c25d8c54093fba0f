// The list of campaigns, and the form for a new one.

import * as api from "./api.js";
import { dialog, embedded, field, h, put, toast } from "./dom.js";
import { ago, count } from "./format.js";
import { endsOf, inShort } from "./status.js";
import { colour } from "./scale.js";
import { name, nameField } from "./author.js";

const EVERY = 4000; // milliseconds between looks while the page is in sight
const PAGE = 100;
const PICTURES = 24; // campaigns that are shown with a small map of what was measured
const CELLS = 48; // of its sides

export class ListPage {
  constructor(main) {
    this.main = main;
  }

  async open() {
    document.title = "maxentry";
    this.cards = h("ul", { class: "campaigns" });
    this.note = h("p", { class: "note" });
    put(
      this.main,
      h("div", { class: "title" }, h("h1", { tabIndex: -1 }, "Campaigns"), h("span", { class: "gap" }), h("button", { type: "button", class: "primary write", id: "new", onclick: () => begin() }, "New campaign")),
      this.note,
      this.cards,
    );
    await this.update();
    if (this.closed) return;
    this.timer = setInterval(() => document.hidden || this.update().catch(() => {}), EVERY);
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
  }

  async update() {
    let page = await api.get(`/campaigns?limit=${PAGE}`);
    if (page.total > PAGE) page = await api.get(`/campaigns?limit=${PAGE}&after=${page.total - PAGE}`); // those begun last
    const lines = page.items.sort((a, b) => b.changed_at.localeCompare(a.changed_at));
    const said = JSON.stringify(lines);
    if (said === this.said) return this.times();
    this.said = said;
    const here = document.activeElement?.getAttribute("href");
    put(this.cards, lines.map((line, k) => card(line, k < PICTURES)));
    put(this.note, page.total === 0 ? "No campaigns yet. Create one: a matrix to measure, with its rows and columns."
      : page.total > lines.length ? `The last ${lines.length} of ${count(page.total)}.` : "");
    if (here) [...this.cards.querySelectorAll("a")].find((link) => link.getAttribute("href") === here)?.focus();
  }

  times() {
    for (const time of this.cards.querySelectorAll("time")) time.textContent = ago(time.dateTime);
  }
}

function card(line, drawn) {
  const all = line.rows * line.cols;
  const picture = drawn ? h("canvas", { class: "thumb", "aria-hidden": "true" }) : null;
  if (picture) draw(picture, line).catch(() => picture.remove());
  return h("li", {}, h("a", { class: "card", href: `#/c/${encodeURIComponent(line.id)}` },
    picture,
    h("strong", { class: "name" }, line.name),
    h("span", { class: "note" }, inShort(line)),
    h("progress", { max: all, value: line.told, "aria-label": "share of the matrix that is measured" }),
    h("span", { class: "note" }, "changed ", h("time", { dateTime: line.changed_at }, ago(line.changed_at)))));
}

/** A thumbnail of the measured entries. */
async function draw(canvas, line) {
  const tile = await api.get(`/campaigns/${encodeURIComponent(line.id)}/map?what=value&cells=${CELLS}`);
  canvas.width = tile.col_starts.length;
  canvas.height = tile.row_starts.length;
  const context = canvas.getContext("2d");
  tile.values.forEach((cells, i) => cells.forEach((x, j) => {
    if (x === null) return;
    context.fillStyle = colour("value", x, tile.least, tile.greatest);
    context.fillRect(j, i, 1, 1);
  }));
}

/** Labels, one a line; or a number, which makes so many of them. */
export function labelsIn(text, letter) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  if (lines.length === 1 && /^\d{1,7}$/.test(lines[0])) return Array.from({ length: Number(lines[0]) }, (_, k) => `${letter}${k + 1}`);
  return lines;
}

/** Grades with commas between them; numbers where all are numbers. */
export function gradesIn(text) {
  const names = text.split(",").map((name) => name.trim()).filter(Boolean);
  return names.every((name) => Number.isFinite(Number(name))) ? names.map(Number) : names;
}

/** A select element for a setting: its values, each with its description. */
function choose(setting) {
  const choices = embedded("choices")[setting];
  return h("select", {}, choices.map(([value, said]) => h("option", { value }, said)));
}

function begin() {
  const text = (properties) => h("input", { type: "text", autocomplete: "off", ...properties });
  const inputs = {
    name: text({ required: true, maxLength: 200, name: "name" }),
    rows: h("textarea", { rows: 5, required: true, name: "rows" }),
    cols: h("textarea", { rows: 5, required: true, name: "cols" }),
    acquisition: choose("acquisition"),
    rank: text({ placeholder: "auto" }),
    transform: choose("transform"),
    seed: h("input", { type: "number", min: 0, step: 1 }),
    budget: h("input", { type: "number", min: 0, step: "any" }),
    target_sd: h("input", { type: "number", min: 0, step: "any" }),
    low: h("input", { type: "number", step: "any" }),
    high: h("input", { type: "number", step: "any" }),
    n_initial: h("input", { type: "number", min: 1, step: 1 }),
    again: h("input", { type: "checkbox" }),
    kind: choose("kind"),
    levels: text({ placeholder: "poor, fair, good" }),
    lower: h("input", { type: "number", step: "any" }),
    upper: h("input", { type: "number", step: "any" }),
  };
  const grades = field("Grades in their order", inputs.levels, "The lowest first, with commas between them: names, or numbers that rise.");
  const ends = h("div", { class: "two" }, field("Lower end of the scale", inputs.lower, "A value there means at or below: a detection limit, 0%."),
    field("Upper end of the scale", inputs.upper, "A value there means at or above: a time-out, 100%."));
  const turn = () => {
    grades.hidden = inputs.kind.value !== "grades";
    inputs.levels.required = !grades.hidden;
    ends.hidden = inputs.kind.value !== "numbers";
  };
  inputs.kind.addEventListener("change", turn);
  turn();
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const send = async (event) => {
    event.preventDefault();
    try {
      const made = await api.write("/campaigns", body(inputs));
      box.close();
      toast(`${made.name} has begun.`);
      location.hash = `#/c/${encodeURIComponent(made.id)}`;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      problem.scrollIntoView({ block: "nearest" });
    }
  };
  const form = h("form", { onsubmit: send },
    field("Name", inputs.name),
    h("div", { class: "two" }, field("Rows", inputs.rows, "One label per line, or a number."), field("Columns", inputs.cols, "One label per line, or a number.")),
    field("Values are", inputs.kind), grades,
    h("details", {}, h("summary", {}, "More"),
      h("div", { class: "two" }, field("How entries are chosen", inputs.acquisition), field("Rank", inputs.rank, "auto, or a whole number."),
        field("Scale of the model", inputs.transform, "For values that vary by factors, or that are shares."), field("Seed", inputs.seed, "The same seed gives the same entries."),
        field("Budget", inputs.budget, "Entries, or their costs."), field("Target: expected error", inputs.target_sd, "Ends the campaign when it is reached."),
        field("Least value", inputs.low, "Below it values are refused."), field("Greatest value", inputs.high, "Above it values are refused."),
        field("Initial entries", inputs.n_initial, "Of the balanced design; the longer side by default."), nameField()),
      ends,
      h("label", { class: "check" }, inputs.again, " entries may be measured repeatedly")),
    problem,
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Begin")));
  const box = dialog("New campaign", form);
  inputs.name.focus();
}

function body(inputs) {
  const number = (input) => (input.value.trim() === "" ? null : Number(input.value));
  const given = {
    name: inputs.name.value.trim(), rows: labelsIn(inputs.rows.value, "r"), cols: labelsIn(inputs.cols.value, "c"),
    acquisition: inputs.acquisition.value, transform: inputs.transform.value, who: name(),
  };
  const rank = inputs.rank.value.trim();
  if (rank) given.rank = /^\d+$/.test(rank) ? Number(rank) : rank;
  for (const key of ["seed", "budget", "target_sd", "n_initial"]) if (number(inputs[key]) !== null) given[key] = number(inputs[key]);
  if (number(inputs.low) !== null || number(inputs.high) !== null) given.range = [number(inputs.low), number(inputs.high)];
  if (inputs.again.checked) given.again = true;
  const kind = inputs.kind.value;
  if (kind !== "numbers") given.kind = kind;
  if (kind === "grades") given.levels = gradesIn(inputs.levels.value);
  const limits = kind === "numbers" ? endsOf(inputs.lower, inputs.upper) : null;
  if (limits) given.limits = limits;
  return given;
}
