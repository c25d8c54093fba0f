// Why an entry is next: how uncertain it is, how its row and column stand, what it would teach.

import { h } from "./dom.js";
import { number, percent } from "./format.js";

const UNLIKE = 1.25; // times the average coherence, from which on a row or column is called unlike others
const MATTERS = 0.05; // of what an entry would teach

/** The reasons as short notes, each with what it means. */
export function notes(line) {
  const found = [];
  if (line.sd_ratio !== null) found.push([`sd ${number(line.sd_ratio, 2)} × the median sd`, "how uncertain the fit is of it (without the noise of measuring), beside the median of all entries", line.sd_ratio >= UNLIKE]);
  for (const [side, c] of [["row", line.row_coherence], ["column", line.col_coherence]]) {
    if (c !== null) found.push([`${side} coherence ${number(c, 2)} ×`, `how unlike others its ${side} is, beside the average`, c >= UNLIKE]);
  }
  const told = line.row_told === 0 && line.col_told === 0 ? "nothing of its row or column measured" : `${line.row_told} of its row, ${line.col_told} of its column measured`;
  found.push([told, "what is known around it", line.row_told === 0 || line.col_told === 0]);
  return found;
}

/** What it would teach: by how much all uncertainty would fall, and where. */
export function lesson(line) {
  const elsewhere = 1 - line.teaches_itself - line.teaches_row - line.teaches_col;
  const parts = [["itself", line.teaches_itself], ["its row", line.teaches_row], ["its column", line.teaches_col], ["elsewhere", elsewhere]];
  const where = parts.filter(([, share]) => share >= MATTERS).sort((a, b) => b[1] - a[1]).map(([name, share]) => `${name} ${Math.round(100 * share)}%`);
  return `would take away ${percent(line.teaches)} of all uncertainty (${where.join(", ")})`;
}

/** As an element; the bar shows what it would teach beside the one of the batch that would teach most. */
export function why(line, most) {
  const chips = notes(line).map(([text, meaning, strong]) => h("li", { class: strong ? "strong" : "", title: meaning }, text));
  const bar = line.teaches === null ? null : h("meter", { min: 0, max: 1, value: most > 0 ? line.teaches / most : 0, "aria-label": "what it would teach, beside the others" });
  return h("div", { class: "why" }, h("ul", { class: "chips", "aria-label": "why this entry" }, chips), bar && h("span", {}, bar, lesson(line)));
}
