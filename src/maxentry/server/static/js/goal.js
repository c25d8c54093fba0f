// The goal of a campaign as fields of a form, and as the text that the server takes.

import { field, h } from "./dom.js";

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

/** The fields of a goal; `text` is the goal as the server takes it, `weights` the box of the weights of a ranking. */
export class GoalFields {
  constructor(goal = "fill", weights = "") {
    const now = parseGoal(goal);
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
