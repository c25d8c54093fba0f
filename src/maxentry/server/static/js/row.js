// Asking about one row: the entries of it that tell most about all of it, or about its average.

import * as api from "./api.js";
import { author } from "./author.js";
import { field, h, toast } from "./dom.js";
import { label, several } from "./format.js";

export class RowAsker {
  /** `changed()` after entries were asked for. */
  constructor(path, changed) {
    Object.assign(this, { path, changed });
    this.size = h("input", { type: "number", min: 1, max: 100000, value: 4, required: true });
    this.about = h("select", {}, h("option", { value: "row" }, "all of the row"), h("option", { value: "average" }, "its average"));
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.button = h("button", {}, "Ask about this row");
    this.title = h("h4", {});
    this.element = h("section", { class: "write" }, this.title,
      h("form", { class: "inline", onsubmit: (event) => this.ask(event) }, field("Entries of this row", this.size), field("That tell most about", this.about), this.button), this.problem);
  }

  show(row) {
    const title = `Row ${label(row)}`;
    if (title !== this.title.textContent) this.problem.hidden = true;
    this.row = row;
    this.title.textContent = title;
  }

  async ask(event) {
    event.preventDefault();
    this.problem.hidden = true;
    this.button.disabled = true;
    try {
      const handed = await api.ask(this.path, { n: Number(this.size.value), row: this.row, about: this.about.value, who: await author() });
      toast(`${several(handed.entries.length, "entry", "entries")} of row ${label(this.row)} to measure.`);
      this.changed();
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    } finally {
      this.button.disabled = false;
    }
  }
}
