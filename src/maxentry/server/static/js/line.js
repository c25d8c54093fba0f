// One line of the batch: row, column, what is expected, a box for the value, "failed", and the reasons on demand.

import { h, put } from "./dom.js";
import { label } from "./format.js";
import { reasonRow } from "./reasons.js";

const COMMA = /^\s*(?:[<>≤≥]=?\s*)?[+-]?\d*,\d+(?:e[+-]?\d+)?(?:\s*\.\.\s*[+-]?\d*,\d+(?:e[+-]?\d+)?)?\s*$/i;

const THOUSANDS = /(?:^|[^\d,])[1-9]\d{0,2},\d{3}(?!\d)/; // 1,234 may be 1234: the server refuses it and says so

/** A typed value with decimal points: "47,5" is 47.5. Anything else is returned as it is. */
export const withPoint = (text) => (COMMA.test(text) && !THOUSANDS.test(text) ? text.replaceAll(",", ".") : text).trim();

/** Where an entry is, as screen readers hear it. */
export const spoken = (item) => `id ${item.id}, row ${label(item.row)}, column ${label(item.col)}`;

export class Line {
  /** `acts`: picked(entry), failed(item), withdrawn(item), typed(), next(line). */
  constructor(item, kind, acts, text = "") {
    Object.assign(this, { item, kind, acts });
    const entry = spoken(item);
    this.value = kind.box({ size: 7, value: text, "data-id": item.id, title: kind.hint, "aria-label": `value of ${entry}`,
      oninput: () => this.typed(), onkeydown: (event) => this.key(event) });
    this.said = h("small", { class: "said", id: `said-${item.id}` });
    this.value.setAttribute("aria-describedby", this.said.id);
    this.expected = h("td", { class: "expected" });
    this.reasons = reasonRow(entry, 6, h("button", { type: "button", class: "small write", "aria-label": `Withdraw: ${entry}`, onclick: () => acts.withdrawn(item) }, "Withdraw …"));
    const place = h("button", { type: "button", class: "link", "aria-label": `show ${entry} on the map`, title: "Show on the map", onclick: () => acts.picked([item.i, item.j]) }, label(item.row));
    const failed = h("button", { type: "button", class: "small", "aria-label": `Mark as failed: ${entry}`, title: "Mark as failed", onclick: () => acts.failed(item) }, "failed");
    this.row = h("tr", { "data-id": item.id }, h("th", { scope: "row" }, place), h("td", { class: "col" }, label(item.col)), this.expected,
      h("td", { class: "value write" }, this.value, this.said), h("td", { class: "write" }, failed), h("td", { class: "more" }, this.reasons.toggle));
    this.note();
  }

  get id() {
    return this.item.id;
  }

  get text() {
    return this.kind.words.length ? this.value.value.trim() : withPoint(this.value.value);
  }

  /** The estimate and the reasons of the last fit. */
  update(item, expected, most) {
    this.item = item;
    if (this.left) {
      this.left = false;
      this.note();
    }
    put(this.expected, expected);
    this.reasons.update(item, most);
  }

  typed() {
    this.value.removeAttribute("aria-invalid");
    this.note();
    this.acts.typed(this);
  }

  /** Say how a decimal comma was read. */
  note() {
    const { value } = this.value;
    put(this.said, this.text === value.trim() ? "" : `read as ${this.text}`);
    this.said.removeAttribute("role");
    this.said.classList.remove("wrong");
  }

  /** Say that the entry is not pending any more, though a value is typed that was not saved. */
  leave() {
    if (this.left) return;
    this.left = true;
    put(this.said, "No longer pending: its time is over, or somebody else has told it. Save the value, or clear the box.");
  }

  /** Mark the box, and say why beside it. */
  refuse(message) {
    this.value.setAttribute("aria-invalid", "true");
    this.said.setAttribute("role", "alert");
    this.said.classList.add("wrong");
    put(this.said, message);
    this.value.focus();
  }

  /** Enter and the arrow keys go from box to box. */
  key(event) {
    const by = { Enter: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.isComposing || (event.key !== "Enter" && this.kind.words.length)) return; // arrows choose a word
    event.preventDefault();
    this.acts.next(this, by, event.key === "Enter");
  }

  remove() {
    this.row.remove();
    this.reasons.row.remove();
  }
}
