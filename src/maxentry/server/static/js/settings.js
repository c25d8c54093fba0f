// The settings of a campaign that may change: goal, unit, budget, targets, known noise, limits, costs; and more rows and columns.

import * as api from "./api.js";
import { author } from "./author.js";
import { cancel, choose, dialog, field, h, toast } from "./dom.js";
import { label } from "./format.js";
import { GoalFields } from "./goal.js";

const shown = (x) => (x === null || x === undefined ? "" : String(x));
const figure = (value, more = {}) => h("input", { type: "number", step: "any", value: shown(value), ...more });

/** What the box for the known noise says below it. */
export const NOISE = "Standard deviation of a measurement around its entry, on the scale of the model. Empty: estimated.";

/** The number in a box, or null where it is empty. */
export const numberIn = (input) => (input.value.trim() === "" ? null : Number(input.value));

/** The two ends of a scale in boxes, or null where both are empty. */
export function endsOf(low, high) {
  const ends = [low, high].map(numberIn);
  return ends.every((end) => end === null) ? null : ends;
}

/** Labels, one a line; or a number, which makes so many of them. */
export function labelsIn(text, letter) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  if (lines.length === 1 && /^\d{1,7}$/.test(lines[0])) return Array.from({ length: Number(lines[0]) }, (_, k) => `${letter}${k + 1}`);
  return lines;
}

/** Costs from lines "label, cost", one for each of the labels; or one number for all. Null where there are none. */
export function costsIn(text, labels, side) {
  if (text.trim() && Number.isFinite(Number(text))) return labels.map(() => Number(text));
  const costs = numbersIn(text, labels, "Costs", side);
  if (costs?.includes(undefined)) throw new Error(`Costs of ${side}s: ${label(labels[costs.indexOf(undefined)])} has none.`);
  return costs;
}

/** The weights of a ranking from lines "label, weight"; labels without a line count once. Null where all do. */
export function weightsIn(goal, { rows, cols }) {
  if (goal.averaged === null) return null;
  return numbersIn(goal.weights.value, goal.averaged === "column" ? cols : rows, "Weights", goal.averaged)?.map((weight) => weight ?? 1) ?? null;
}

/** Numbers from lines "label, number" in the order of the labels, undefined where there is no line; null without any. */
function numbersIn(text, labels, what, side) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  if (!lines.length) return null;
  const given = new Map(lines.map((line) => {
    const [, name, number] = line.match(/^(.*?)\s*[\t;,=: ]\s*([-+.\deE]+)$/) ?? [];
    if (name === undefined || !Number.isFinite(Number(number))) throw new Error(`${what} of ${side}s: “${line}” is not a label and a number, like “${label(labels[0])}, 2.5”.`);
    return [name, Number(number)];
  }));
  const known = new Set(labels.map((one) => label(one).trim()));
  const unknown = [...given.keys()].find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`${what} of ${side}s: there is no ${side} “${unknown}”.`);
  return labels.map((one) => given.get(label(one).trim()));
}

/** A form in a dialog with Cancel; `send` writes and returns what to say. */
function ask(title, button, send, ...fields) {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const submit = async (event) => {
    event.preventDefault();
    try {
      const said = await send();
      box.close();
      toast(said);
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      problem.scrollIntoView({ block: "nearest" });
    }
  };
  const form = h("form", { onsubmit: submit }, fields, problem, h("div", { class: "actions" }, cancel(), h("button", { class: "primary" }, button)));
  const box = dialog(title, form);
  return box;
}

/** The dialog for settings. */
export async function changeSettings(path, changed) {
  const [now, labels] = await Promise.all([api.get(`${path}/settings`), api.get(`${path}/labels`)]);
  const lines = now.goal.startsWith("rank columns") ? labels.rows : labels.cols;
  const unlike = (now.weights ?? []).flatMap((weight, k) => (weight === 1 ? [] : [`${label(lines[k])}, ${weight}`]));
  const goal = new GoalFields(now.goal, unlike.join("\n"), now.enough);
  const name = h("input", { type: "text", required: true, maxLength: 200, value: now.name });
  const unit = h("input", { type: "text", maxLength: 200, value: shown(now.unit) });
  const noun = (name) => h("input", { type: "text", maxLength: 200, value: shown(name) });
  const [rows, cols] = [noun(now.row_name), noun(now.col_name)];
  const budget = figure(now.budget, { min: 0 });
  const target = figure(now.target_sd, { min: 0 });
  const [least, greatest] = (now.range ?? [null, null]).map((end) => figure(Number.isFinite(end) ? end : null));
  const [low, high] = (now.limits ?? [null, null]).map((end) => figure(Number.isFinite(end) ? end : null));
  const costs = { row: h("textarea", { rows: 3 }), col: h("textarea", { rows: 3 }) };
  const free = h("input", { type: "checkbox" });
  const engine = choose("engine", now.engine);
  const numbers = now.kind === "numbers";
  const known = numbers && ["auto", "gaussian"].includes(now.noise) ? figure(now.noise_sd, { min: 0 }) : null;
  const send = async () => {
    const parts = { row: costsIn(costs.row.value, labels.rows, "row"), col: costsIn(costs.col.value, labels.cols, "column") };
    const given = Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== null));
    const wanted = { goal: goal.text, weights: weightsIn(goal, labels), unit: unit.value.trim() || null, row_name: rows.value.trim() || null, col_name: cols.value.trim() || null, budget: numberIn(budget), target_sd: numberIn(target), enough: goal.enough, ...(known ? { noise_sd: numberIn(known) } : {}), range: endsOf(least, greatest), engine: engine.value, ...(numbers ? { limits: endsOf(low, high) } : {}) };
    const same = (name) => JSON.stringify(wanted[name]) === JSON.stringify(now[name] ?? null);
    const body = Object.fromEntries(Object.keys(wanted).filter((name) => !same(name)).map((name) => [name, wanted[name]]));
    if ("goal" in body) body.enough = wanted.enough; // it belongs to the goal
    if (free.checked) body.costs = null;
    else if (Object.keys(given).length) body.costs = given;
    const renamed = name.value.trim() !== now.name;
    if (!Object.keys(body).length && !renamed) return "Nothing was changed.";
    if (Object.keys(body).length) await api.write(`${path}/settings`, { ...body, who: await author() }, { method: "PATCH" });
    if (renamed) await api.write(`${path}/rename`, { name: name.value.trim(), who: await author() });
    changed();
    return "Settings saved.";
  };
  const cost = "One number for all, or a line for each: label, cost.";
  const box = ask("Settings", "Save settings", send,
    field("Name", name),
    goal.element,
    h("div", { class: "two" }, field("Unit of the values", unit, "For maps and the report, like “% yield”."), field("Budget", budget, "Entries, or their costs. Empty: no limit."),
      field("Target: expected error", target, "Ends the campaign when it is reached. Empty: none."), goal.stop,
      known ? field("Known noise", known, NOISE) : null),
    h("div", { class: "two" }, field("A row is called", rows, "Like “ligand”, in answers and files."), field("A column is called", cols, "Like “substrate”.")),
    h("div", { class: "two" }, field("Least value", least, "Below it values are refused. Empty: none."), field("Greatest value", greatest, "Above it values are refused. Empty: none.")),
    numbers ? h("div", { class: "two" }, field("Lower end of the scale", low, "A value there means at or below. Empty: none."), field("Upper end of the scale", high, "A value there means at or above. Empty: none.")) : null,
    h("details", {}, h("summary", {}, now.has_costs ? "Costs (given)" : "Costs (each entry costs 1)"),
      h("div", { class: "two" }, field("Cost of each row", costs.row, cost), field("Cost of each column", costs.col, cost)),
      h("p", { class: "note" }, "An entry costs its row's and its column's cost together. Empty boxes leave costs as they are."),
      now.has_costs ? h("label", { class: "check" }, free, " remove the costs: each entry costs 1 again") : null),
    h("details", {}, h("summary", {}, "More"), field("Fits run on", engine, "A GPU pays for large tables, and needs JAX on the server. Its draws are others.")),
    h("p", {}, h("button", { type: "button", class: "small", onclick: () => (box.close(), deleteCampaign(path, now.name)) }, "Delete campaign …")));
}

/** The dialog that deletes a campaign once its name is typed. */
function deleteCampaign(path, name) {
  const typed = h("input", { type: "text", required: true, autocomplete: "off" });
  const send = async () => {
    await api.remove(`${path}?name=${encodeURIComponent(typed.value.trim())}`);
    location.hash = "#/";
    return `${name} was deleted.`;
  };
  ask(`Delete ${name}`, "Delete for good", send, h("p", {}, "Its values and its whole history are deleted. Nothing brings them back but a backup."), field("Type its name to confirm", typed));
  typed.focus();
}

/** The dialog that removes rows or columns. */
export function removeLabels(path, changed) {
  const side = h("select", {}, h("option", { value: "rows" }, "rows"), h("option", { value: "cols" }, "columns"));
  const labels = h("textarea", { rows: 4, required: true });
  const send = async () => {
    const given = labels.value.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
    const { struck } = await api.write(`${path}/${side.value}/remove`, { labels: given, who: await author() });
    changed();
    return `Removed. ${struck} ${struck === 1 ? "value was" : "values were"} struck out.`;
  };
  ask("Remove rows or columns", "Remove", send, field("Remove", side), field("Labels", labels, "One label per line. Their values are struck out, and what is pending of them is withdrawn; the history keeps all of it."));
  labels.focus();
}

/** The dialog for more rows or columns. */
export function addLabels(path, side, changed) {
  const many = side === "row" ? "rows" : "columns";
  const labels = h("textarea", { rows: 6, required: true });
  const send = async () => {
    const given = labels.value.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
    const { notes } = await api.write(`${path}/${side === "row" ? "rows" : "cols"}`, { labels: given, who: await author() });
    changed();
    return [`${given.length} ${given.length === 1 ? many.slice(0, -1) : many} added.`, ...notes].join(" ");
  };
  ask(`Add ${many}`, `Add ${many}`, send, field(`New ${many}`, labels, "One label per line. They come after the present ones; nothing of them is measured yet."));
  labels.focus();
}
