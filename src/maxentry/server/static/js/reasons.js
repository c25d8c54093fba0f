// Why an entry is next: one sentence on demand, and the figures behind it.

import { embedded, h, put } from "./dom.js";
import { number, percent } from "./format.js";

const { stands_out: STANDS_OUT } = embedded("thresholds"); // a ratio to the typical sd or coherence
const SMALLEST_SHARE = 0.05; // of the reduction in uncertainty; smaller parts are left out

/** The reason in one sentence. */
export function sentence(line) {
  const found = [];
  if (line.row_told === 0 && line.col_told === 0) found.push("nothing in its row or column is measured yet");
  else if (line.row_told === 0) found.push("nothing in its row is measured yet");
  else if (line.col_told === 0) found.push("nothing in its column is measured yet");
  if (line.sd_ratio >= STANDS_OUT) found.push(`its estimate is ${number(line.sd_ratio, 2)} times as uncertain as that of a typical entry`);
  if (line.teaches) found.push(`measuring it should lower the total uncertainty by ${percent(line.teaches)}`);
  if (!found.length) found.push(`${line.row_told} of its row and ${line.col_told} of its column are measured`);
  const text = found.length > 1 ? `${found.slice(0, -1).join(", ")}, and ${found.at(-1)}` : found[0];
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** The figures as short notes: the text, its explanation, and whether it stands out. */
export function notes(line) {
  const found = [];
  if (line.sd_ratio !== null) found.push([`sd ${number(line.sd_ratio, 2)} × the median sd`, "posterior sd of the entry (without the noise of a measurement), relative to the median of all entries", line.sd_ratio >= STANDS_OUT]);
  for (const [side, c] of [["row", line.row_coherence], ["column", line.col_coherence]]) {
    if (c !== null) found.push([`${side} coherence ${number(c, 2)} ×`, `how unlike the others its ${side} is, relative to the average`, c >= STANDS_OUT]);
  }
  found.push([`${line.row_told} of its row, ${line.col_told} of its column measured`, "how many entries of its row and column are measured", line.row_told === 0 || line.col_told === 0]);
  return found;
}

/** Where measuring it would lower the uncertainty. */
export function lesson(line) {
  const elsewhere = 1 - line.teaches_itself - line.teaches_row - line.teaches_col;
  const parts = [["itself", line.teaches_itself], ["its row", line.teaches_row], ["its column", line.teaches_col], ["elsewhere", elsewhere]];
  const where = parts.filter(([, share]) => share >= SMALLEST_SHARE).sort((a, b) => b[1] - a[1]).map(([name, share]) => `${name} ${Math.round(100 * share)}%`);
  return `Lowers total uncertainty by ${percent(line.teaches)}: ${where.join(", ")}.`;
}

/** The figures as an element; the bar compares the reduction of uncertainty with the largest of the batch. */
function figures(line, most) {
  const chips = notes(line).map(([text, meaning, strong]) => h("li", { class: strong ? "strong" : "", title: meaning }, text));
  const bar = line.teaches === null ? null : h("meter", { min: 0, max: 1, value: most > 0 ? line.teaches / most : 0, "aria-label": "reduction of uncertainty, relative to the largest of the batch" });
  return [h("ul", { class: "chips", "aria-label": "figures" }, chips), bar && h("span", {}, bar, lesson(line))];
}

let made = 0;

/** A row below a line of a table, which its toggle opens: the sentence, then the figures behind a toggle of their own. */
export function reasonRow(entry, columns, ...acts) {
  const id = `why-${(made += 1)}`;
  const said = h("p", {});
  const details = h("div", {});
  const row = h("tr", { class: "why", id, hidden: true }, h("td", { colSpan: columns }, said, h("details", {}, h("summary", {}, "Figures"), details), acts));
  const toggle = h("button", { type: "button", class: "small quiet", "aria-expanded": "false", "aria-controls": id, "aria-label": `Why ${entry}?`, onclick: () => {
    row.hidden = !row.hidden;
    toggle.setAttribute("aria-expanded", String(!row.hidden));
  } }, "why?");
  return { row, toggle, update: (line, most) => (put(said, sentence(line)), put(details, figures(line, most))) };
}
