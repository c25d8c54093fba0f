// A file with measurements as a table: how it was read, and which columns are rows, columns and values, by clicking.

import * as api from "./api.js";
import { h, put, toast } from "./dom.js";
import { count, several } from "./format.js";

const PREVIEWED = 8; // lines
export const WESTERN = "windows-1252"; // the encoding of Excel's plain CSV
const ROLES = { row: "row", col: "column", value: "value" };
const NAMES = { row: ["row", "rows"], col: ["col", "column"], value: ["value", "values"] };

/** Have the server read a file: its columns as text, numbers with decimal points. */
export async function readFile(file, sheet = "") {
  const asked = sheet ? `?sheet=${encodeURIComponent(sheet)}` : "";
  return api.write(`/tables${asked}`, await file.arrayBuffer(), { type: "application/octet-stream" });
}

const isNumber = (text) => text !== "" && Number.isFinite(Number(text));

const ASIDE = /^(.*(time|date|stamp|zeit|datum|uhr)|se|sem|sd|low|lower|high|upper|well|plat(e|te)|batch|run|seed|replicate|n|(.*[ _.-])?id)$/i; // no values, as in layout.py
/** Guess whether a table is long (a line for each measurement), and which columns have which role. */
export function guess({ names, lines, roles: found = {} }) {
  const find = (role) => names.findIndex((name) => NAMES[role].includes(name.trim().toLowerCase()));
  const roles = Object.fromEntries(Object.keys(ROLES).map((role) => [role, find(role)]));
  const { se, ...beside } = findBeside({ names }, { long: true, ...roles });
  const counted = Object.values(beside).some((at) => at >= 0);
  if (roles.row >= 0 && roles.col >= 0 && (roles.value >= 0 || counted)) return { long: true, ...roles };
  if ("col" in found) return { long: true, value: -1, ...found };
  const share = (at, test) => lines.filter((line) => test(line[at])).length / Math.max(1, lines.length);
  const first = lines.map((line) => line[0]);
  const repeated = new Set(first).size < first.length;
  const isWord = (x) => WORDS.has(x.trim().toLowerCase());
  const yesNo = (at) => share(at, isWord) > 0 && share(at, (x) => x === "" || isWord(x)) === 1;
  const texts = names.map((_, at) => at).filter((at) => share(at, (x) => x !== "" && !isNumber(x)) > 0.5 && !yesNo(at));
  const named = texts.filter((at) => !ASIDE.test(names[at].trim()));
  const words = named.length >= 2 ? named : texts;
  const free = names.map((_, at) => at).filter((at) => ![se, ...Object.values(beside)].includes(at));
  const measured = free.filter((at) => share(at, isNumber) > 0.5);
  const numbers = measured.some((at) => !ASIDE.test(names[at].trim())) ? measured : [...measured, ...free.filter(yesNo)];
  const figures = numbers.some((at) => !ASIDE.test(names[at].trim())) ? numbers.filter((at) => !ASIDE.test(names[at].trim())) : numbers;
  if (repeated && words.length >= 2 && (figures.length || counted)) return { long: true, row: words[0], col: words[1], value: figures.at(-1) ?? -1 };
  return { long: false, row: 0, col: -1, value: -1 };
}

/** Labels and measurements of a table that is read in this way. Labels are as they stand in the file, values have decimal points. */
export function matrix({ names, lines, written }, { long, row, col, value }) {
  const values = [];
  const label = (k, at) => (written ?? lines)[k][at];
  if (!long) {
    const at = names.map((_, k) => k).filter((k) => k !== row);
    lines.forEach((line, i) => at.forEach((k) => line[k] !== "" && values.push({ row: label(i, row), col: names[k], value: line[k] })));
    return { rows: lines.map((_, i) => label(i, row)), cols: at.map((k) => names[k]), values, name: names[row] };
  }
  const different = (at) => [...new Set(lines.map((_, i) => label(i, at)))].filter((text) => text !== "");
  const beside = Object.entries(findBeside({ names }, { long, row, col, value })).filter(([, at]) => at >= 0);
  lines.forEach((line, i) => {
    const given = beside.filter(([, at]) => line[at] !== "").map(([name, at]) => [name, isNumber(line[at]) ? Number(line[at]) : line[at]]);
    const text = value >= 0 && line[value] !== "" ? { value: line[value] } : {};
    if ("value" in text || given.some(([name]) => name !== "se")) values.push({ row: label(i, row), col: label(i, col), ...text, ...Object.fromEntries(given) });
  });
  return { rows: different(row), cols: different(col), values, name: names[row] };
}

// Columns of a list beside the value, as files that are told have them.
const BESIDE = { low: ["low", "lower"], high: ["high", "upper"], se: ["se", "sem", "sd"], successes: ["successes"], trials: ["trials"] };
const WORDS = new Set(["yes", "no", "y", "n", "true", "false", "t", "f", "pass", "fail", "correct", "right", "wrong", "incorrect"]); // as in wording.py
const [MOST_GRADES, EACH] = [10, 4]; // as in transform.py

/** What else numbers may be: yes and no if all are 0 and 1, grades if they are few a step apart; null for all others. */
export function hintKind(values) {
  const found = [...new Set(values)].sort((a, b) => a - b);
  const step = found.some((x) => x % 1 !== 0) ? 0.5 : 1;
  if (found.length < 2 || found.length > MOST_GRADES || values.length < EACH * found.length || ![0, 0.5, 1].includes(found[0])) return null;
  if (found.some((x, k) => k > 0 && x - found[k - 1] !== step)) return null;
  if (found.join() === "0,1") return { kind: "yes/no", said: "All values are 0 or 1. If they mean no and yes, say so below: values are yes or no." };
  return found.length > 2 ? { kind: "grades", levels: found, said: `All values are among ${found.join(", ")}. If they are grades, say so below: values are grades.` } : null;
}

/** Where a list has its limits, standard errors and counts of trials; -1 where it has none. */
function findBeside({ names }, { long, ...roles }) {
  const doubtful = roles.value >= 0 ? ["lower", "upper"] : []; // beside values likely a confidence interval
  const find = (known) => (long ? names.findIndex((name, at) => known.includes(name.trim().toLowerCase()) && !doubtful.includes(name.trim().toLowerCase()) && !Object.values(roles).includes(at)) : -1);
  return Object.fromEntries(Object.entries(BESIDE).map(([name, known]) => [name, find(known)]));
}

/** The preview of a file: a table whose headings choose what each column is. */
export class Sheet {
  constructor(file, found, changed = () => {}) {
    Object.assign(this, { file, found, changed });
    this.roles = guess(found);
    this.left = new Set(); // labels of rows and columns that are left out
    this.element = h("section", { class: "sheet", "aria-label": "How the file was read" });
    this.draw();
  }

  /** Labels and measurements, without what is left out. */
  get matrix() {
    const { rows, cols, values, name } = matrix(this.found, this.roles);
    const stays = (label) => !this.left.has(label);
    return { rows: rows.filter(stays), cols: cols.filter(stays), values: values.filter(({ row, col }) => stays(row) && stays(col)), name };
  }

  /** Lines on labels that may not be meant: sums and means, with a button that leaves them out, and slips. */
  doubts() {
    const { totals = [], alike = [] } = this.found;
    const { rows, cols } = matrix(this.found, this.roles);
    const turn = (label) => () => {
      if (!this.left.delete(label)) this.left.add(label);
      this.draw();
    };
    const button = (label, text) => h("button", { type: "button", class: "small", onclick: turn(label), "aria-label": `${text}: ${label}` }, text);
    const sums = [...new Set(totals)].filter((label) => rows.includes(label) || cols.includes(label)).map((label) => (this.left.has(label)
      ? h("p", { class: "note" }, `Left out: “${label}”. `, button(label, "Take it back"))
      : h("p", { class: "note" }, `“${label}” is named like a sum, mean or count of others. `, button(label, "Leave it out"))));
    const twins = alike.filter((pair) => [rows, cols].some((side) => pair.every((label) => side.includes(label)))).slice(0, 3)
      .map(([one, other]) => h("p", { class: "note" }, `“${one}” and “${other}” are named nearly alike. If they are the same, correct the file.`));
    return [...sums, ...twins];
  }

  /** Whether the values are words for yes and no, or counts of trials. */
  get yesNo() {
    const { values } = this.matrix;
    const plus = values.some(({ value }) => value?.trim() === "+"); // - alone may mean that nothing was measured
    const known = (text) => WORDS.has(text.toLowerCase()) || (plus && ["+", "-", "\u2212"].includes(text));
    return values.length > 0 && values.every(({ value, trials }) => (value === undefined ? trials !== undefined : known(value.trim())));
  }

  /** What else the values may be, if they are all plain numbers. */
  get hint() {
    const { values } = this.matrix;
    const plain = values.every(({ value, low, high, trials }) => value !== undefined && isNumber(value) && low === undefined && high === undefined && trials === undefined);
    return plain ? hintKind(values.map(({ value }) => Number(value))) : null;
  }

  /** The columns of a list that are not read. */
  get unused() {
    const used = [...Object.values(this.roles), ...Object.values(findBeside(this.found, this.roles))];
    return this.roles.long ? this.found.names.filter((_, at) => !used.includes(at)) : [];
  }

  /** Read as one line a measurement, or as a matrix. */
  read(long) {
    const { row } = this.roles;
    const others = this.found.names.map((_, k) => k).filter((k) => k !== row);
    this.roles = long ? { long, row, col: others[0] ?? -1, value: others.at(-1) ?? -1 } : { long, row, col: -1, value: -1 };
    this.draw();
  }

  /** Give a column a role; the one that had it gets the role of this column. */
  give(at, role) {
    const before = Object.keys(ROLES).find((one) => this.roles[one] === at);
    const free = this.found.names.findIndex((_, k) => k !== at && !Object.values(this.roles).includes(k));
    if (before && before !== role) this.roles[before] = this.roles[role] >= 0 ? this.roles[role] : free;
    this.roles[role] = at;
    this.draw();
  }

  draw() {
    const { names, lines, sheets, encoding, title, notes = [] } = this.found;
    const { long } = this.roles;
    const { rows, cols, values } = this.matrix;
    const shape = (text, on, wanted) => h("button", { type: "button", "aria-pressed": String(on), onclick: () => this.read(wanted) }, text);
    const role = (at) => Object.keys(ROLES).find((one) => this.roles[one] === at) ?? (long ? "" : "value");
    const head = (name, at) => h("th", { scope: "col", class: role(at) }, h("span", {}, name || `column ${at + 1}`), h("span", { class: "segments" }, Object.entries(ROLES).filter(([one]) => long || one === "row").map(([one, word]) =>
      h("button", { type: "button", class: "small", "aria-pressed": String(this.roles[one] === at), "aria-label": `${name || `column ${at + 1}`} holds the ${word}${one === "value" ? "" : " labels"}`, onclick: () => this.give(at, one) }, word))));
    const sheetChoice = sheets?.length > 1 ? h("select", { "aria-label": "Sheet", onchange: (event) => this.turn(event.target.value).catch((error) => toast(error.message, "bad")) }, sheets.map((name) => h("option", { value: name, selected: name === this.name }, name))) : null;
    put(this.element,
      h("p", {}, h("strong", {}, this.file.name), `: ${several(rows.length, "row")}, ${several(cols.length, "column")}, ${several(values.length, "value")}.`, sheetChoice),
      h("div", { class: "segments", role: "group", "aria-label": "How the file is laid out" }, shape("a matrix: one line for each row", !long, false), shape("a list: one line for each measurement", long, true)),
      h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "First lines of the file" }, h("table", { class: "figures" }, h("thead", {}, h("tr", {}, names.map(head))),
        h("tbody", {}, lines.slice(0, PREVIEWED).map((line) => h("tr", {}, line.map((text, at) => h("td", { class: role(at) }, text))))))),
      lines.length > PREVIEWED ? h("p", { class: "note" }, `and ${count(lines.length - PREVIEWED)} more lines`) : null,
      encoding === WESTERN ? h("p", { class: "note" }, `Read as ${WESTERN}, since the file is not UTF-8: look at the labels.`) : null,
      title ? h("p", { class: "note" }, `Left out as a title: ${title}`) : null,
      notes.map((note) => h("p", { class: "note" }, note)),
      this.doubts(),
      this.unused.length ? h("p", { class: "note" }, `Not used: ${this.unused.join(", ")}. Limits are read from columns called low and high, standard errors from se, sem or sd.`) : null,
      this.hint ? h("p", { class: "note" }, this.hint.said) : null);
    this.changed();
  }

  /** Another sheet of the workbook. */
  async turn(sheet) {
    this.name = sheet;
    this.found = await readFile(this.file, sheet);
    this.roles = guess(this.found);
    this.draw();
  }
}
