// Why an entry is next: how uncertain it is, how its row and column stand, what it would teach.

import { h } from "./dom.js";
import { number, percent } from "./format.js";

const UNLIKE = 1.25; // times the average coherence, from which on a row or column is called unlike others

/** The reasons in words, the weightiest first. */
export function words(line) {
  const found = [];
  if (line.sd_ratio !== null) found.push(`its sd is ${number(line.sd_ratio, 2)} times the typical entry's`);
  const unlike = [["row", line.row_coherence], ["column", line.col_coherence]].filter(([, c]) => c !== null && c >= UNLIKE);
  for (const [side, c] of unlike) found.push(`its ${side} is unlike others (coherence ${number(c, 2)} times the average)`);
  if (line.row_told === 0 && line.col_told === 0) found.push("nothing of its row or column is measured");
  else found.push(`${line.row_told || "nothing"} of its row and ${line.col_told || "nothing"} of its column measured`);
  return found.join("; ");
}

/** What it would teach, in a sentence. */
export function lesson(line) {
  if (line.teaches === null) return "";
  const where = [["its row", line.teaches_row], ["its column", line.teaches_col]].sort((a, b) => b[1] - a[1]);
  return `alone it would take away ${percent(line.teaches)} of all uncertainty, ${percent(where[0][1])} of that in ${where[0][0]} and ${percent(where[1][1])} in ${where[1][0]}`;
}

/** As an element: words, and a small bar for what it would teach beside the greatest of the batch. */
export function why(line, most) {
  const share = line.teaches !== null && most > 0 ? line.teaches / most : 0;
  const bar = line.teaches === null ? null : h("meter", { min: 0, max: 1, value: share, title: lesson(line), "aria-label": "what it would teach, beside the others" });
  const coherence = line.row_coherence === null ? null
    : h("small", { class: "note" }, `coherence: row ${number(line.row_coherence, 2)}, column ${number(line.col_coherence, 2)} (1 is average)`);
  return h("div", { class: "why" }, h("span", {}, words(line)), line.teaches === null ? null : h("span", { class: "lesson" }, bar, lesson(line)), coherence);
}
