// What would be asked for next, without asking for it: a table like that of the batch.

import { h, put } from "./dom.js";
import { label, number, several } from "./format.js";
import { reasonRow } from "./reasons.js";

const LISTED = 200; // entries with their reasons

/** Fill an element with the entries that would be next; `picked` shows one on the map. */
export function showPreview(element, found, { expected, picked }) {
  if (!found) return put(element);
  const most = Math.max(0, ...found.entries.map((line) => line.teaches ?? 0));
  const priced = found.entries.some((line) => line.cost !== found.entries[0].cost);
  const listed = found.entries.slice(0, LISTED);
  const rows = listed.map((line) => {
    const entry = `row ${label(line.row)}, column ${label(line.col)}`;
    const reasons = reasonRow(entry, priced ? 5 : 4);
    reasons.update(line, most);
    const place = h("button", { type: "button", class: "link", title: "Show on the map", "aria-label": `show ${entry} on the map`, onclick: () => picked([line.i, line.j]) }, label(line.row));
    return [h("tr", {}, h("th", { scope: "row" }, place), h("td", { class: "col" }, label(line.col)), h("td", { class: "expected" }, expected(line)),
      priced ? h("td", {}, number(line.cost)) : null, h("td", { class: "more" }, reasons.toggle)), reasons.row];
  });
  const rest = found.total - listed.length;
  const said = listed.length ? `Chosen by ${found.why.replaceAll("_", " ")}. These are not asked for yet.` : found.why;
  const heads = ["Row", "Column", "Expected", ...(priced ? ["Cost"] : [])].map((name) => h("th", { scope: "col" }, name));
  const table = h("table", { class: "batch" }, h("caption", { class: "unseen" }, "Entries that would be asked for next"),
    h("thead", {}, h("tr", {}, heads, h("td", {}))), h("tbody", {}, rows));
  put(element, h("h3", {}, "What would be asked for next"), h("p", { class: "note" }, said), listed.length ? table : null, rest > 0 ? h("p", { class: "note" }, `and ${several(rest, "entry", "entries")} more, on the map`) : null);
}
