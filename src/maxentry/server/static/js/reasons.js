// Why an entry is next: its uncertainty, the coherence of its row and column, and how far measuring it lowers uncertainty.

import { embedded, h } from "./dom.js";
import { number, percent } from "./format.js";

const { stands_out: STANDS_OUT } = embedded("thresholds"); // a ratio to the typical sd or coherence
const SMALLEST_SHARE = 0.05; // of the reduction in uncertainty; smaller parts are left out

/** The reasons as short notes: the text, its explanation, and whether it stands out. */
export function notes(line) {
  const found = [];
  if (line.sd_ratio !== null) found.push([`sd ${number(line.sd_ratio, 2)} × the median sd`, "posterior sd of the entry (without the noise of a measurement), relative to the median of all entries", line.sd_ratio >= STANDS_OUT]);
  for (const [side, c] of [["row", line.row_coherence], ["column", line.col_coherence]]) {
    if (c !== null) found.push([`${side} coherence ${number(c, 2)} ×`, `how unlike the others its ${side} is, relative to the average`, c >= STANDS_OUT]);
  }
  const told = line.row_told === 0 && line.col_told === 0 ? "nothing of its row or column measured" : `${line.row_told} of its row, ${line.col_told} of its column measured`;
  found.push([told, "how many entries of its row and column are measured", line.row_told === 0 || line.col_told === 0]);
  return found;
}

/** How far measuring it would lower the total uncertainty, and where. */
export function lesson(line) {
  const elsewhere = 1 - line.teaches_itself - line.teaches_row - line.teaches_col;
  const parts = [["itself", line.teaches_itself], ["its row", line.teaches_row], ["its column", line.teaches_col], ["elsewhere", elsewhere]];
  const where = parts.filter(([, share]) => share >= SMALLEST_SHARE).sort((a, b) => b[1] - a[1]).map(([name, share]) => `${name} ${Math.round(100 * share)}%`);
  return `would lower total uncertainty by ${percent(line.teaches)} (${where.join(", ")})`;
}

/** The reasons as an element; the bar compares the reduction of uncertainty with the largest of the batch. */
export function why(line, most) {
  const chips = notes(line).map(([text, meaning, strong]) => h("li", { class: strong ? "strong" : "", title: meaning }, text));
  const bar = line.teaches === null ? null : h("meter", { min: 0, max: 1, value: most > 0 ? line.teaches / most : 0, "aria-label": "reduction of uncertainty, relative to the largest of the batch" });
  return h("div", { class: "why" }, h("ul", { class: "chips", "aria-label": "why this entry" }, chips), bar && h("span", {}, bar, lesson(line)));
}
