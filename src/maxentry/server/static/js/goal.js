// The goal of a campaign as fields of a form, and as the text that the server takes.

import { field, h } from "./dom.js";
import { number, percent } from "./format.js";

const KINDS = [
  ["fill", "fill the table: a small error everywhere"],
  ["best", "find the best entries of the table"],
  ["best per row", "find the best of each row"],
  ["best per column", "find the best of each column"],
  ["rank rows", "rank the rows by their averages"],
  ["rank columns", "rank the columns by their averages"],
  ["threshold", "find the entries above a threshold"],
];
const OVERALL = 10; // entries that "best" looks for where no number is given

/** The parts of a goal's text. */
export function parseGoal(text) {
  const [, side] = text.match(/^rank (rows|columns)/) ?? [];
  const small = /\bsmallest\b/.test(text);
  if (side) return { kind: `rank ${side}`, small, k: "", threshold: "" };
  if (text.startsWith("threshold")) return { kind: "threshold", small: false, k: "", threshold: text.split(" ")[1] };
  const [, k, line] = text.match(/^(?:best|smallest)(?: (\d+))?(?: per (row|column))?$/) ?? [];
  if (text === "fill" || (!k && !line && !/^(best|smallest)$/.test(text))) return { kind: "fill", small: false, k: "", threshold: "" };
  return { kind: line ? `best per ${line}` : "best", small, k: k ?? "", threshold: "" };
}

/** What is at stake for a goal, which `enough` limits: what it is called, and whether it is a share of 1. Null for fill. */
function stake(kind) {
  if (kind === "fill") return null;
  if (kind.startsWith("rank")) return { called: "expected share of pairs in the wrong order", share: true };
  if (kind === "threshold") return { called: "expected share of entries on the wrong side", share: true };
  return { called: "expected regret", share: false };
}

/** The limit that ends a campaign for its goal, in words; null without one. */
export function limitOf({ goal, enough }) {
  const at = stake(parseGoal(goal).kind);
  if (at === null || enough === null) return null;
  return `Ends when the ${at.called} is at most ${at.share ? percent(enough) : number(enough)}.`;
}

/** A share as people write it, "5%" or "0.05", as a number; null where nothing is written. */
export function shareIn(text) {
  const written = text.trim().replace(",", ".");
  if (!written) return null;
  const [, figure, sign] = written.match(/^(\d*\.?\d+(?:e-?\d+)?)\s*(%?)$/i) ?? [];
  const share = !sign ? Number(figure) : /e/i.test(figure) ? Number(figure) / 100 : Number(`${figure}e-2`);
  if (!(share > 0 && share < 1)) throw new Error(`“${text.trim()}” is not a share: write it in per cent with the sign, like 5%, or as a number below 1, like 0.05.`);
  return share;
}

/** The fields of a goal; `text` is the goal as the server takes it, `weights` the box of the weights of a ranking, `stop` the field of `enough`. */
export class GoalFields {
  constructor(goal = "fill", weights = "", enough = null) {
    const now = parseGoal(goal);
    this.begun = { kind: now.kind, enough };
    const limit = enough === null ? null : stake(now.kind);
    this.regret = h("input", { type: "number", step: "any", min: 0, value: limit && !limit.share ? String(enough) : "" });
    this.share = h("input", { type: "text", autocomplete: "off", value: limit?.share ? `${Number((100 * enough).toPrecision(12))}%` : "" });
    this.stops = {
      regret: field("Target: expected regret (in the units of the values)", this.regret, "How far what is recommended may fall short of the best. Ends the campaign when it is reached. Empty: none."),
      share: field("", this.share, "In per cent with the sign, or as a number below 1. Ends the campaign when it is reached. Empty: none."),
    };
    this.stop = h("div", {}, Object.values(this.stops));
    this.kind = h("select", { onchange: () => this.turn() }, KINDS.map(([value, said]) => h("option", { value, selected: value === now.kind }, said)));
    this.small = h("select", {}, h("option", { value: "" }, "large values are good"), h("option", { value: "smallest", selected: now.small }, "small values are good"));
    this.k = h("input", { type: "number", min: 1, step: 1, value: now.k });
    this.threshold = h("input", { type: "text", inputMode: "decimal", value: now.threshold });
    this.weights = h("textarea", { rows: 3, value: weights });
    this.counted = field("Weights", this.weights, "Columns that count more or less in the averages of rows (or rows in those of columns), a line for each: label, weight. Others count once.");
    this.more = {
      small: field("Good values", this.small),
      k: field("How many", this.k),
      threshold: field("Threshold", this.threshold, "In the units of the values."),
    };
    this.element = h("div", { class: "goal" }, field("Goal", this.kind, "It decides which entries are asked for, and what the answer is. It can be changed later."),
      h("div", { class: "two" }, Object.values(this.more)), this.counted);
    this.turn();
  }

  turn() {
    const { value } = this.kind;
    this.more.small.hidden = value === "fill" || value === "threshold";
    this.more.k.hidden = !value.startsWith("best");
    this.k.placeholder = value === "best" ? String(OVERALL) : "1";
    this.more.threshold.hidden = value !== "threshold";
    this.threshold.required = value === "threshold";
    this.counted.hidden = this.averaged === null;
    const at = stake(value);
    this.stop.hidden = at === null;
    this.stops.regret.hidden = at?.share !== false;
    this.stops.share.hidden = at?.share !== true;
    if (at?.share) this.stops.share.querySelector("label").textContent = `Target: ${at.called} (5% or 0.05)`;
  }

  /** What may be at stake when the campaign ends, as the server takes it; null without a limit. */
  get enough() {
    const at = stake(this.kind.value);
    if (at === null) return this.begun.kind === "fill" ? this.begun.enough : null;
    if (at.share) return shareIn(this.share.value);
    return this.regret.value.trim() === "" ? null : Number(this.regret.value);
  }

  /** What a ranking averages over: "column", "row"; null for other goals. */
  get averaged() {
    return { "rank rows": "column", "rank columns": "row" }[this.kind.value] ?? null;
  }

  get text() {
    const { value } = this.kind;
    if (value === "threshold") return `threshold ${this.threshold.value.trim().replace(",", ".")}`;
    if (value.startsWith("rank")) return [value, this.small.value].filter(Boolean).join(" ");
    if (value === "fill") return value;
    const [, per] = value.match(/^best( per \w+)?$/);
    return `${this.small.value || "best"}${this.k.value ? ` ${Number(this.k.value)}` : ""}${per ?? ""}`;
  }
}
