// Why an entry is next: how uncertain it is, how its row and column stand, what it would teach.

import { h } from "./dom.js";
import { number, percent } from "./format.js";

const UNLIKE = 1.25; // times the average coherence, from which on a row or column is called unlike others

/** The reasons in words, the weightiest first. */
export function words(line) {
  const found = [];
  if (line.sd_ratio !== null) found.push(`its sd is ${number(line.sd_ratio, 2)} times the typical entry's`);
  const unlike = [["row", line.row_coherence], ["column", line.col_coherence]].filter(([, c]) => c !== null && c >= UNLIKE);
  for (const [side] of unlike) found.push(`its ${side} is unlike others`);
  if (line.row_told === 0 && line.col_told === 0) found.push("nothing of its row or column is measured");
  else found.push(`${line.row_told || "nothing"} of its row and ${line.col_told || "nothing"} of its column measured`);
  return found.join("; ");
}

/** What it would teach, in a sentence: by how much all uncertainty would fall, and where. */
export function lesson(line) {
  const elsewhere = 1 - line.teaches_itself - line.teaches_row - line.teaches_col;
  const parts = [["itself", line.teaches_itself], ["the rest of its row", line.teaches_row], ["the rest of its column", line.teaches_col], ["other rows and columns", elsewhere]];
  const where = parts.filter(([, share]) => share >= 0.05).sort((a, b) => b[1] - a[1]).map(([name, share]) => `${name} ${Math.round(100 * share)}%`);
  return `would take away ${percent(line.teaches)} of all uncertainty: of ${where.join(", ")}`;
}

/** As an element: words, and a small bar for what it would teach beside the greatest of the batch. */
export function why(line, most) {
  const share = line.teaches !== null && most > 0 ? line.teaches / most : 0;
  const bar = line.teaches === null ? null : h("meter", { min: 0, max: 1, value: share, title: lesson(line), "aria-label": "what it would teach, beside the others" });
  const coherence = line.row_coherence === null ? "" : `; coherence of row ${number(line.row_coherence, 2)}, of column ${number(line.col_coherence, 2)} (1 is average)`;
  return h("div", { class: "why" }, h("span", {}, h("span", { class: "unseen" }, "Why: "), words(line) + coherence), line.teaches === null ? null : h("span", {}, bar, lesson(line)));
}
