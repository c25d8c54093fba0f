// The next batch: asking for it, and entering values by hand or as a file.

import * as api from "./api.js";
import { author } from "./author.js";
import { cancel, dialog, field, h, put, toast } from "./dom.js";
import { Draft } from "./draft.js";
import { count, label, several } from "./format.js";
import { Line } from "./line.js";
import { showPreview } from "./preview.js";
import { WESTERN } from "./sheet.js";

const FIRST = 24; // entries of the first batch, at most

export class Batch {
  /**
   * `changed()` after something was written; `picked(entry)` when an entry is to be shown on the map; `saved(lines)`
   * after values were saved; `acted()` when the next step may be another one.
   */
  constructor(path, kind, status, acts) {
    Object.assign(this, { path, kind, ...acts });
    this.lines = new Map(); // by id, so that what is typed survives what others do
    this.draft = new Draft(path);
    this.total = 0;
    this.version = -1; // the latest heard of
    this.build(status.measurements || status.pending ? 8 : Math.min(FIRST, Math.max(status.rows, status.cols)));
  }

  build(n) {
    this.size = h("input", { type: "number", min: 1, max: 100000, value: n, required: true, oninput: () => this.acted() });
    this.plates = h("select", { onchange: () => this.acted() }, h("option", { value: "" }, "single entries"), h("option", { value: "rows" }, "whole rows"), h("option", { value: "cols" }, "whole columns"));
    this.asker = h("button", { class: "write", id: "ask" }, "Ask for entries");
    this.look = h("button", { type: "button", title: "what would be next, without asking for it", onclick: () => this.preview() }, "Preview");
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.refusal = h("p", { class: "problem", role: "alert", hidden: true });
    this.body = h("tbody");
    this.save = h("button", { class: "write", id: "save" }, "Save values");
    this.file = h("input", { type: "file", accept: ".csv,.tsv,.txt,.xlsx,text/csv", onchange: () => this.upload(this.file.files[0]) });
    this.summary = h("p", { class: "note" });
    this.next = h("div", { class: "next" });
    const head = (name, write) => h("th", { scope: "col", class: write ? "write" : "" }, name);
    this.table = h("table", { class: "batch" }, h("caption", { class: "unseen" }, "Entries to measure"),
      h("thead", {}, h("tr", {}, head("Row"), head("Column"), head("Expected"), head("Value", true), h("td", { class: "write" }), h("td", {}))), this.body);
    this.form = h("form", { noValidate: true, onsubmit: (event) => this.tell(event) }, this.table, this.refusal,
      h("div", { class: "actions" }, this.summary, this.save));
    this.drop = h("div", { class: "drop write" }, field("Results as a file (CSV or Excel)", this.file, `Columns id (or row and col) and value: ${this.kind.words.length ? this.kind.hint : "a number, a limit like <0.5 or 0.5..0.7"}, “failed” if measuring gave no value, empty while it is awaited. Either all lines are saved or none.`));
    listenForFiles(this.drop, (file) => this.upload(file));
    this.element = h("section", { class: "card", id: "batch", "aria-labelledby": "batch-title" },
      h("h2", { id: "batch-title" }, "Next batch"), this.form,
      h("form", { class: "inline ask", onsubmit: (event) => this.ask(event) }, field("How many", this.size), field("As", this.plates), this.asker, this.look),
      this.problem, this.next, this.drop);
  }

  say(place, error) {
    place.textContent = error === null ? "" : error.message;
    place.hidden = error === null;
  }

  // What is pending

  /** Show what is pending now: lines that stay keep what was typed into them. */
  update({ items, total }) {
    this.total = total;
    const most = Math.max(0, ...items.map((line) => line.teaches ?? 0));
    const there = new Set(items.map((line) => line.id));
    for (const [id, line] of this.lines) {
      if (there.has(id)) continue;
      if (line.text !== "" && !line.saved) {
        if (items.length === total) line.leave(); // what was typed is not thrown away
        continue;
      }
      line.remove();
      this.lines.delete(id);
    }
    if (items.length === total) this.draft.keep(new Set([...this.lines.keys(), ...there]));
    items.forEach((item, k) => {
      const line = this.lines.get(item.id) ?? this.add(item);
      line.update(item, this.expected(item), most);
      const at = this.body.children[2 * k];
      if (at !== line.row) this.body.insertBefore(line.row, at ?? null);
      line.row.after(line.reasons.row);
    });
    const rest = total - items.length;
    put(this.summary, rest > 0 ? `and ${several(rest, "entry", "entries")} more: the plate as a file has all` : total ? `${several(total, "entry", "entries")} pending` : "");
    this.form.hidden = total === 0 && this.lines.size === 0;
    if (this.entering && total) this.enter();
    this.acted();
  }

  add(item) {
    const line = new Line(item, this.kind, {
      picked: this.picked,
      failed: () => this.giveUp(item, "fail"),
      withdrawn: () => this.giveUp(item, "withdraw"),
      typed: () => (this.draft.set(item.id, line.value.value), this.say(this.refusal, null), this.acted()),
      next: (from, by, save) => this.go(from, by, save),
    }, this.draft.get(item.id));
    this.lines.set(item.id, line);
    return line;
  }

  /** To another box; after the last one to the button that saves. */
  go(from, by, save) {
    const boxes = [...this.body.querySelectorAll("td.value input")];
    const box = boxes[boxes.indexOf(from.value) + by];
    if (box) box.select();
    else if (save) this.save.focus();
  }

  /** The lines with a value. */
  get filled() {
    return [...this.lines.values()].filter((line) => line.text !== "");
  }

  /** To the first box without a value, as soon as there is one. */
  enter() {
    this.entering = this.lines.size === 0;
    const line = [...this.lines.values()].find((one) => one.text === "") ?? this.lines.values().next().value;
    line?.value.focus();
    line?.row.scrollIntoView({ block: "nearest" });
  }

  /** The prediction of the last fit; without one, that of the time of asking. */
  expected(line) {
    const [mean, sd] = (line.mean_now ?? null) === null ? [line.mean, line.sd] : [line.mean_now, line.sd_now];
    return mean === null ? "" : this.kind.guess(mean, sd);
  }

  async ask(event) {
    event?.preventDefault();
    if (document.documentElement.dataset.may === "read") return this.preview(); // Enter, of who may only look
    this.say(this.problem, null);
    try {
      const body = { n: Number(this.size.value), who: await author(), ...(this.plates.value ? { plates: this.plates.value } : {}) };
      this.choosing = true;
      this.asker.disabled = true;
      this.acted();
      const handed = await api.ask(this.path, body);
      this.suggest(null);
      const idle = handed.entries.filter((line) => line.gain === 0).length;
      const said = idle ? ` ${idle === handed.entries.length ? "They" : `${idle} of them`} promise nothing more for the goal.` : "";
      toast(`${several(handed.entries.length, "entry", "entries")} to measure.${said}`);
      this.changed();
    } catch (error) {
      this.say(this.problem, error);
    } finally {
      this.choosing = false;
      this.asker.disabled = false;
      this.acted();
    }
  }

  async tell(event) {
    event?.preventDefault();
    this.say(this.refusal, null);
    const { filled } = this;
    if (!filled.length) return this.say(this.refusal, new Error("Enter a value first, or “failed” if measuring gave none."));
    this.save.disabled = true;
    try {
      const lines = filled.map((line) => ({ id: line.id, value: line.text }));
      const receipt = await api.write(`${this.path}/tell`, { lines, who: await author() }, { key: api.newKey() });
      filled.forEach((line) => (this.draft.set(line.id, ""), (line.saved = true)));
      this.received(receipt, filled);
    } catch (error) {
      this.refuse(error, filled);
    } finally {
      this.save.disabled = false;
    }
  }

  /** Say why a value was refused beside its box; the server says which of the lines that were sent it is. */
  refuse(error, filled) {
    const line = filled[error.line - 1];
    if (line) line.refuse(error.said ? this.kind.refusal(error.said) : error.message);
    else this.say(this.refusal, error);
  }

  received(receipt, lines) {
    const parts = [[receipt.told, `value${receipt.told === 1 ? "" : "s"} saved`], [receipt.failed, "failed"], [receipt.known, "known already"], [receipt.awaited, "still awaited"]];
    const unused = receipt.unused?.length ? ` Columns not used: ${receipt.unused.join(", ")}.` : "";
    const read = receipt.encoding === WESTERN ? ` Read as ${WESTERN}, since the file is not UTF-8.` : "";
    const said = `${parts.filter(([n]) => n > 0).map(([n, word]) => `${count(n)} ${word}`).join(", ") || "Nothing new"}.${unused}${read}${(receipt.notes ?? []).map((note) => ` ${note}`).join("")}`;
    toast(said);
    if (receipt.told) this.saved(said, lines);
    this.changed();
  }

  async upload(file) {
    if (!file) return;
    this.say(this.problem, null);
    try {
      const who = await author();
      this.received(await api.write(`${this.path}/tell/csv${who ? `?who=${encodeURIComponent(who)}` : ""}`, await file.arrayBuffer(), { key: api.newKey(), type: "text/csv" }), []);
    } catch (error) {
      const known = error.status === undefined || (error.status >= 400 && error.status < 500); // otherwise the answer may have been lost on its way
      this.say(this.problem, new Error(`${file.name}: ${error.message} ${known ? "Nothing was changed." : "It is not known whether it was saved; sending it again does no harm."}`));
    } finally {
      this.file.value = ""; // so that the same file, mended, can be chosen again
    }
  }

  /** Mark an entry as failed or withdrawn. */
  giveUp(item, kind) {
    const reason = h("input", { type: "text", maxLength: 2000, autocomplete: "off" });
    const retry = h("input", { type: "checkbox" });
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const send = async (event) => {
      event.preventDefault();
      try {
        const more = kind === "fail" ? { retry: retry.checked } : {};
        await api.write(`${this.path}/${kind}`, { ids: [item.id], reason: reason.value.trim(), who: await author(), ...more });
        box.close();
        this.lines.get(item.id).saved = true;
        toast(kind === "fail" ? "Marked as failed." : "Withdrawn.");
        this.changed();
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    };
    const again = h("label", { class: "check" }, retry, " it may be asked for again");
    const form = h("form", { onsubmit: send }, h("p", {}, h("strong", {}, label(item.row)), " · ", h("strong", {}, label(item.col))), field("Reason", reason, "For the history; may be empty."),
      kind === "fail" ? again : null, problem, h("div", { class: "actions" }, cancel(), h("button", { class: "primary" }, kind === "fail" ? "Mark as failed" : "Withdraw")));
    const box = dialog(kind === "fail" ? `Measuring id ${item.id} failed` : `Withdraw id ${item.id}`, form);
    reason.focus();
  }

  // What would be next

  /** The entries that `ask` would hand out, without asking for them. */
  async preview() {
    this.say(this.problem, null);
    this.look.disabled = true;
    const turn = (this.turn = {});
    try {
      const plates = this.plates.value ? `&plates=${this.plates.value}` : "";
      const found = await api.made(`${this.path}/next?n=${Number(this.size.value) || 8}${plates}&wait=2`);
      if (this.turn === turn && found.version >= this.version) this.suggest(found); // else it is of another state by now
    } catch (error) {
      this.say(this.problem, error);
    } finally {
      this.look.disabled = false;
    }
  }

  /** Drop previews of earlier versions; events may be older than what is shown. */
  heard(version) {
    this.version = version;
    if (this.suggested && this.suggested.version < version) this.suggest(null);
  }

  suggest(found) {
    this.turn = null;
    this.suggested = found;
    this.previewed(found);
    showPreview(this.next, found, { expected: (line) => this.expected(line), picked: this.picked });
    this.acted();
  }
}

/** Let files be dropped on an element. */
export function listenForFiles(element, take) {
  const over = (event, on) => {
    event.preventDefault();
    element.classList.toggle("over", on);
  };
  element.addEventListener("dragover", (event) => over(event, true));
  element.addEventListener("dragleave", (event) => over(event, false));
  element.addEventListener("drop", (event) => {
    over(event, false);
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}
