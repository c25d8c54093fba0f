// The answer to the campaign's goal: a sentence for each line, and for a ranking a caterpillar plot of averages.

import * as api from "./api.js";
import { h, put } from "./dom.js";
import { label, number, percent } from "./format.js";

const SHOWN = 6; // sentences; the table has the rest
const NAMED = 12; // entries that the best of all are named by
const LISTED = 500; // lines of the table
const RANKED = 60; // lines of a plot
const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** A table that a toggle opens. */
const folded = (head, rows) => h("details", {}, h("summary", {}, "Table"), h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "The answer in figures" },
  h("table", { class: "figures" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))));

export class Answer {
  constructor(path, kind) {
    Object.assign(this, { path, kind });
    this.title = h("h2", { id: "answer-title" }, "Answer");
    this.body = h("div");
    this.element = h("section", { class: "card answer", "aria-labelledby": "answer-title", hidden: true }, this.title, this.body);
    this.sentences = null;
  }

  /** Show the answer of the last fit at hand. */
  async update(goal, fitted) {
    this.element.hidden = goal === "fill";
    this.sentences = null;
    if (goal === "fill") return;
    put(this.title, `Answer: ${goal}`);
    const found = fitted ? await api.get(`${this.path}/answer?wait=0&stale=true`) : null;
    if (!found?.summary) return put(this.body, h("p", { class: "note" }, "The answer comes with the first fit."));
    this.sentences = found.summary.slice(0, this.recommended(goal, found));
    const stake = h("p", { class: "note" }, found.summary.at(-1), found.fit?.current === false ? " From the last fit; a new one is running." : "");
    put(this.body, goal.startsWith("rank") ? this.ranking(found) : this.lines(found), stake);
  }

  /** How many sentences say what is recommended: of a ranking the first place, of the best of all those with a place. */
  recommended(goal, { lines }) {
    if (goal.startsWith("rank")) return 1;
    const ofAll = /^(best|smallest)/.test(goal) && !goal.includes(" per ");
    return ofAll ? 1 + Math.min(lines.filter((line) => line.place > 0).length, NAMED) : -1;
  }

  lines({ summary, lines }) {
    const sentences = summary.slice(0, -1);
    const rest = sentences.length > SHOWN ? h("p", { class: "note" }, "More in the table.") : null;
    const head = ["Row", "Column", "Estimate", "Interval", "Probability"].map((text) => h("th", { scope: "col" }, text));
    const rows = lines.slice(0, LISTED).map((line) => h("tr", {}, h("th", { scope: "row" }, label(line.row)), h("td", {}, label(line.col)), h("td", {}, number(line.estimate)),
      h("td", {}, this.kind.interval(line.low, line.high)), h("td", {}, percent(line.probability))));
    return [h("ul", { class: "answers" }, sentences.slice(0, SHOWN).map((text) => h("li", {}, text))), rest, folded(head, rows)];
  }

  ranking(found) {
    const side = found.goal.includes("row") ? "row" : "col";
    const lines = found.lines.slice(0, RANKED);
    const rest = found.lines.length - lines.length;
    return [h("p", { class: "first" }, found.summary[0]), this.caterpillar(lines, side, found.level), rest > 0 ? h("p", { class: "note" }, `and ${rest} more`) : null, this.table(lines, side)];
  }

  /** Averages with their intervals, the best first; a bracket joins neighbours whose order is in doubt. */
  caterpillar(lines, side, level) {
    const low = Math.min(...lines.map((line) => line.low));
    const high = Math.max(...lines.map((line) => line.high));
    const at = (x) => 2 + (96 * (x - low)) / Math.max(high - low, 1e-12);
    const step = 22;
    const middle = (k) => step * k + step / 2;
    const marks = lines.flatMap((line, k) => [
      draw("line", { x1: `${at(line.low)}%`, x2: `${at(line.high)}%`, y1: middle(k), y2: middle(k), class: "interval" }),
      draw("circle", { cx: `${at(line.estimate)}%`, cy: middle(k), r: 4.5, class: "point" }),
    ]);
    const picture = draw("svg", { class: "caterpillar", height: step * lines.length, role: "img", "aria-label": `Averages with ${percent(level)} intervals, the best first; the table below has the figures` }, ...marks);
    const tied = (k) => k + 1 < lines.length && lines[k].tied;
    const names = lines.map((line, k) => h("li", { class: tied(k) ? "tied" : "", title: tied(k) ? `above the next with a probability of ${percent(line.above_next)}` : "" }, label(line[side])));
    return h("figure", { class: "ranks" }, h("ol", { "aria-hidden": "true" }, names), picture,
      h("figcaption", { class: "note" }, `Average and ${percent(level)} interval, from ${number(low)} to ${number(high)}. A bracket at the left joins neighbours whose order is in doubt.`));
  }

  table(lines, side) {
    const head = ["", side === "row" ? "Row" : "Column", "Average", "Interval", "Rank", "Best with"].map((text) => h("th", { scope: "col" }, text || "#"));
    const rows = lines.map((line) => h("tr", {}, h("td", {}, String(line.place)), h("th", { scope: "row" }, label(line[side])), h("td", {}, number(line.estimate)),
      h("td", {}, this.kind.interval(line.low, line.high)), h("td", {}, line.rank_low === line.rank_high ? String(line.rank_low) : `${line.rank_low} to ${line.rank_high}`), h("td", {}, percent(line.probability))));
    return folded(head, rows);
  }
}
