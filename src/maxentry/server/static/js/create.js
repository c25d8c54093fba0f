// The form for a new campaign: from labels, or from a file whose measurements it begins with.

import * as api from "./api.js";
import { author } from "./author.js";
import { listenForFiles } from "./batch.js";
import { cancel, choose, dialog, field, fileBox, h, put, toast } from "./dom.js";
import { GoalFields } from "./goal.js";
import { endsOf, labelsIn, NOISE, numberIn, weightsIn } from "./settings.js";
import { readFile, Sheet } from "./sheet.js";

/** Grades with commas between them; numbers where all are numbers. */
export function gradesIn(text) {
  const names = text.split(",").map((name) => name.trim()).filter(Boolean);
  return names.every((name) => Number.isFinite(Number(name))) ? names.map(Number) : names;
}

const text = (properties = {}) => h("input", { type: "text", autocomplete: "off", ...properties });
const figure = (properties = {}) => h("input", { type: "number", step: "any", ...properties });

export class CreateForm {
  constructor(file = null) {
    this.sheet = null;
    this.inputs = {
      name: text({ required: true, maxLength: 200, name: "name" }),
      rows: h("textarea", { rows: 5, required: true, name: "rows" }),
      cols: h("textarea", { rows: 5, required: true, name: "cols" }),
      acquisition: choose("acquisition"),
      rank: text({ placeholder: "auto" }),
      transform: choose("transform"),
      engine: choose("engine"),
      seed: figure({ min: 0, step: 1 }),
      unit: text({ maxLength: 200 }),
      budget: figure({ min: 0 }),
      target_sd: figure({ min: 0 }),
      noise_sd: figure({ min: 0 }),
      low: figure(),
      high: figure(),
      n_initial: figure({ min: 1, step: 1 }),
      again: h("input", { type: "checkbox" }),
      kind: choose("kind"),
      levels: text({ placeholder: "poor, fair, good" }),
      lower: figure(),
      upper: figure(),
    };
    this.goal = new GoalFields();
    this.build();
    if (file) this.take(file);
  }

  build() {
    const { inputs } = this;
    this.file = fileBox((file) => this.take(file));
    this.read = h("div");
    this.labels = h("div", { class: "two" }, field("Rows", inputs.rows, "One label per line, or a number."), field("Columns", inputs.cols, "One label per line, or a number."));
    this.grades = field("Grades in their order", inputs.levels, "The lowest first, with commas between them: names, or numbers that rise.");
    this.ends = h("div", { class: "two" }, field("Lower end of the scale", inputs.lower, "A value there means at or below: a detection limit, 0%."),
      field("Upper end of the scale", inputs.upper, "A value there means at or above: a time-out, 100%."));
    this.noise = field("Known noise", inputs.noise_sd, NOISE);
    inputs.kind.addEventListener("change", () => this.turn());
    this.turn();
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    const drop = h("div", { class: "drop" }, field("Begin with a file (CSV or Excel)", this.file, "A matrix, or a list with a row, a column and a value a line. Drop it here, or leave this empty."));
    listenForFiles(drop, (file) => this.take(file));
    const form = h("form", { onsubmit: (event) => this.send(event) },
      field("Name", inputs.name), drop, this.read, this.labels, this.goal.element,
      field("Values are", inputs.kind), this.grades,
      h("details", {}, h("summary", {}, "More"),
        h("div", { class: "two" }, field("How entries are chosen", inputs.acquisition, "With the goal of filling the table."), field("Rank", inputs.rank, "auto, or a whole number."),
          field("Scale of the model", inputs.transform, "For values that vary by factors, or that are shares."), field("Seed", inputs.seed, "The same seed gives the same entries."),
          field("Unit of the values", inputs.unit, "Like “% yield”."), field("Budget", inputs.budget, "Entries, or their costs."), field("Target: expected error", inputs.target_sd, "Ends the campaign when it is reached."), this.goal.stop,
          this.noise,
          field("Fits run on", inputs.engine, "A GPU pays for large tables, and needs JAX on the server."),
          field("Initial entries", inputs.n_initial, "Of the balanced design; the longer side by default."),
          field("Least value", inputs.low, "Below it values are refused."), field("Greatest value", inputs.high, "Above it values are refused.")),
        this.ends,
        h("label", { class: "check" }, inputs.again, " entries may be measured repeatedly")),
      this.problem,
      h("div", { class: "actions" }, cancel(), h("button", { class: "primary" }, "Begin")));
    this.box = dialog("New campaign", form);
    inputs.name.focus();
  }

  turn() {
    const kind = this.inputs.kind.value;
    this.grades.hidden = kind !== "grades";
    this.inputs.levels.required = kind === "grades";
    const levels = this.sheet?.hint?.levels;
    if (kind === "grades" && levels && !this.inputs.levels.value) this.inputs.levels.value = levels.join(", ");
    this.ends.hidden = this.noise.hidden = kind !== "numbers";
  }

  refuse(error) {
    this.problem.textContent = error?.message ?? "";
    this.problem.hidden = !error;
    if (error) this.problem.scrollIntoView({ block: "nearest" });
  }

  /** Begin with this file: show how it was read; its labels take the place of the boxes. */
  async take(file) {
    this.refuse(null);
    try {
      this.sheet = new Sheet(file, await readFile(file));
      put(this.read, this.sheet.element);
      if (this.sheet.yesNo) this.inputs.kind.value = "yes/no";
      this.turn();
      if (!this.inputs.name.value) this.inputs.name.value = file.name.replace(/\.\w+$/, "");
    } catch (error) {
      this.sheet = null;
      put(this.read);
      this.refuse(new Error(`${file.name}: ${error.message}`));
    }
    const given = this.sheet !== null;
    this.labels.hidden = given;
    this.inputs.rows.required = this.inputs.cols.required = !given;
  }

  async send(event) {
    event.preventDefault();
    this.refuse(null);
    try {
      const made = await api.write("/campaigns", { ...this.body(), who: await author() });
      this.box.close();
      toast(made.measurements ? `${made.name} has begun with ${made.measurements} values.` : `${made.name} has begun.`);
      location.hash = `#/c/${encodeURIComponent(made.id)}`;
    } catch (error) {
      this.refuse(this.advise(error));
    }
  }

  /** A refusal of values that are of another kind than the form says: with the control that sets the kind as the advice. */
  advise(error) {
    const kind = { needs_grades: "grades", needs_yes_no: "yes/no" }[error.code];
    if (!kind || !error.reason) return error;
    const choice = [...this.inputs.kind.options].find((option) => option.value === kind).text;
    const [are, order] = kind === "grades" ? ["grades", " and give their order"] : ["yes or no", ""];
    return new Error(`${error.reason} If the values are ${are}, choose “Values are: ${choice}”${order}. If not, leave these cells of the file empty.`);
  }

  body() {
    const { inputs } = this;
    const given = { name: inputs.name.value.trim(), acquisition: inputs.acquisition.value, transform: inputs.transform.value, goal: this.goal.text };
    if (this.sheet) {
      const { rows, cols, values, name } = this.sheet.matrix;
      Object.assign(given, { rows, cols, ...(values.length ? { values } : {}), ...(name && !/^rows?$/i.test(name) ? { row_name: name } : {}) });
    } else Object.assign(given, { rows: labelsIn(inputs.rows.value, "r"), cols: labelsIn(inputs.cols.value, "c") });
    const weights = weightsIn(this.goal, given);
    if (weights) given.weights = weights;
    const rank = inputs.rank.value.trim();
    if (rank) given.rank = /^\d+$/.test(rank) ? Number(rank) : rank;
    for (const key of ["seed", "budget", "target_sd", "n_initial"]) if (numberIn(inputs[key]) !== null) given[key] = numberIn(inputs[key]);
    const range = endsOf(inputs.low, inputs.high);
    if (range) given.range = range;
    if (inputs.unit.value.trim()) given.unit = inputs.unit.value.trim();
    if (inputs.engine.value !== "cpu") given.engine = inputs.engine.value;
    if (inputs.again.checked) given.again = true;
    const kind = inputs.kind.value;
    if (kind !== "numbers") given.kind = kind;
    if (kind === "grades") given.levels = gradesIn(inputs.levels.value);
    if (kind === "numbers" && numberIn(inputs.noise_sd) !== null) given.noise_sd = numberIn(inputs.noise_sd);
    const { enough } = this.goal;
    if (enough !== null) given.enough = enough;
    const limits = kind === "numbers" ? endsOf(inputs.lower, inputs.upper) : null;
    if (limits) given.limits = limits;
    return given;
  }
}
