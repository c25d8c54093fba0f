// The next batch: asking for it, the reasons, and entering values by hand or as a file.

import * as api from "./api.js";
import { dialog, field, h, put, toast } from "./dom.js";
import { count, csvCell, label, number, several } from "./format.js";
import { why } from "./reasons.js";
import { name, nameField } from "./author.js";

const LISTED = 200; // entries that would be next, with their reasons

export class Batch {
  /** `changed()` after something was written; `picked(entry)` when an entry is to be shown on the map. */
  constructor(path, kind, { changed, picked, previewed }) {
    Object.assign(this, { path, kind, changed, picked, previewed });
    this.lines = new Map(); // by id, so that what is typed survives what others do
    this.total = 0;
    this.version = -1; // the latest heard of
    this.build();
  }

  build() {
    this.size = h("input", { type: "number", min: 1, max: 100000, value: 8, required: true });
    this.plates = h("select", {}, h("option", { value: "" }, "single entries"), h("option", { value: "rows" }, "whole rows"), h("option", { value: "cols" }, "whole columns"));
    this.asker = h("button", { class: "primary write", id: "ask" }, "Ask for entries");
    this.look = h("button", { type: "button", title: "what would be next, without asking for it", onclick: () => this.preview() }, "Preview");
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.body = h("ol", { class: "batch", "aria-label": "Entries to measure" });
    this.save = h("button", { class: "primary write" }, "Save values");
    this.file = h("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", onchange: () => this.upload(this.file.files[0]) });
    this.summary = h("p", { class: "note" });
    this.next = h("div", { class: "next" });
    this.form = h("form", { noValidate: true, onsubmit: (event) => this.tell(event) }, this.body,
      h("div", { class: "actions" }, this.summary, h("button", { type: "button", onclick: () => this.download() }, "Plate as CSV"), this.save));
    this.drop = h("div", { class: "drop" }, field("Results as a file (CSV)", this.file, `Columns id (or row and col) and value: ${this.kind.words.length ? this.kind.hint : "a number, a limit like <0.5 or 0.5..0.7"}, “failed” if measuring gave no value, empty while it is awaited. Either all lines are saved or none.`));
    this.listenForFiles();
    this.element = h("section", { class: "card", id: "batch", "aria-labelledby": "batch-title" },
      h("h2", { id: "batch-title" }, "Next batch"),
      h("form", { class: "inline ask", onsubmit: (event) => this.ask(event) }, field("How many", this.size), field("As", this.plates), this.asker, this.look),
      this.problem, this.form, this.next,
      h("div", { class: "two write" }, this.drop, nameField()));
  }

  listenForFiles() {
    const over = (event, on) => {
      event.preventDefault();
      this.drop.classList.toggle("over", on);
    };
    this.drop.addEventListener("dragover", (event) => over(event, true));
    this.drop.addEventListener("dragleave", (event) => over(event, false));
    this.drop.addEventListener("drop", (event) => {
      over(event, false);
      if (event.dataTransfer.files[0]) this.upload(event.dataTransfer.files[0]);
    });
  }

  refuse(error) {
    this.problem.textContent = error === null ? "" : error.message;
    this.problem.hidden = error === null;
  }

  // What is pending

  /** Show what is pending now: lines that stay keep what was typed into them. */
  update({ items, total }) {
    this.total = total;
    const most = Math.max(0, ...items.map((line) => line.teaches ?? 0));
    const there = new Set(items.map((line) => line.id));
    for (const [id, line] of this.lines) {
      if (there.has(id)) continue;
      line.row.remove();
      this.lines.delete(id);
    }
    items.forEach((item, k) => {
      const line = this.lines.get(item.id) ?? this.add(item);
      put(line.expected, this.expected(item));
      put(line.why, why(item, most));
      if (this.body.children[k] !== line.row) this.body.insertBefore(line.row, this.body.children[k] ?? null);
    });
    const rest = total - items.length;
    put(this.summary, rest > 0 ? `and ${several(rest, "entry", "entries")} more: the plate as CSV has all` : total ? `${several(total, "entry", "entries")} pending` : "");
    this.form.hidden = total === 0;
  }

  add(item) {
    const { id } = item;
    const entry = `id ${id}, row ${label(item.row)}, column ${label(item.col)}`;
    const value = this.kind.box({ size: 7, placeholder: "value", "data-id": id, title: this.kind.hint, "aria-label": `value of ${entry}` });
    const act = (text, title, kind) => h("button", { type: "button", class: "small", "aria-label": `${title}: ${entry}`, title, onclick: () => this.giveUp(item, kind) }, text);
    const place = h("button", { type: "button", class: "link", "aria-label": `show ${entry} on the map`, onclick: () => this.picked([item.i, item.j]) }, String(id));
    const line = { item, value, expected: h("span", { class: "expected" }), why: h("div", { class: "reason" }) };
    const acts = h("span", { class: "acts write" }, value, act("failed", "Mark as failed", "fail"), act("withdraw", "Withdraw", "withdraw"));
    line.row = h("li", { "data-id": id }, h("span", { class: "id" }, place), title(item), line.expected, acts, line.why);
    this.lines.set(id, line);
    return line;
  }

  /** The prediction of the last fit; without one, that of the time of asking. */
  expected(line) {
    const [mean, sd] = line.mean_now === null ? [line.mean, line.sd] : [line.mean_now, line.sd_now];
    return mean === null ? "" : `${this.kind.yesNo ? this.kind.guessName : "expected"} ${this.kind.guess(mean, sd)}`;
  }

  async ask(event) {
    event.preventDefault();
    if (document.documentElement.dataset.may === "read") return this.preview(); // Enter, of who may only look
    this.refuse(null);
    this.asker.disabled = true;
    const text = this.asker.textContent;
    this.asker.textContent = "Choosing …";
    try {
      const body = { n: Number(this.size.value), who: name(), ...(this.plates.value ? { plates: this.plates.value } : {}) };
      const handed = await api.ask(this.path, body);
      this.suggest(null);
      toast(`${several(handed.entries.length, "entry", "entries")} to measure.`);
      this.changed();
    } catch (error) {
      this.refuse(error);
    } finally {
      this.asker.disabled = false;
      this.asker.textContent = text;
    }
  }

  async tell(event) {
    event.preventDefault();
    this.refuse(null);
    const filled = [...this.lines.values()].filter((line) => line.value.value.trim() !== "");
    if (!filled.length) return this.refuse(new Error("Enter a value first, or “failed” if measuring gave none."));
    this.save.disabled = true;
    for (const line of filled) line.value.removeAttribute("aria-invalid");
    try {
      const lines = filled.map((line) => ({ id: line.item.id, value: line.value.value.trim() }));
      this.received(await api.write(`${this.path}/tell`, { lines, who: name() }, { key: api.newKey() }));
    } catch (error) {
      // The server counts the lines that were sent; here they go by their ids.
      const said = error.message.replace(/\bline (\d+)\b/, (text, k) => (filled[k - 1] ? `id ${filled[k - 1].item.id}` : text));
      this.refuse(new Error(said));
      const named = filled.find((line) => new RegExp(`\\bid ${line.item.id}\\b`).test(said));
      named?.value.setAttribute("aria-invalid", "true");
      named?.value.focus();
    } finally {
      this.save.disabled = false;
    }
  }

  received(receipt) {
    const parts = [[receipt.told, "told"], [receipt.failed, "failed"], [receipt.known, "known already"], [receipt.awaited, "still awaited"]];
    const unused = receipt.unused?.length ? ` Columns not used: ${receipt.unused.join(", ")}.` : "";
    toast(`${parts.filter(([n]) => n > 0).map(([n, word]) => `${count(n)} ${word}`).join(", ") || "Nothing new"}.${unused}`);
    this.changed();
  }

  async upload(file) {
    if (!file) return;
    this.refuse(null);
    try {
      const who = name();
      this.received(await api.write(`${this.path}/tell/csv${who ? `?who=${encodeURIComponent(who)}` : ""}`, await file.arrayBuffer(), { key: api.newKey(), type: "text/csv" }));
    } catch (error) {
      const known = error.status >= 400 && error.status < 500; // otherwise the answer may have been lost on its way
      this.refuse(new Error(`${file.name}: ${error.message} ${known ? "Nothing was changed." : "It is not known whether it was saved; sending it again does no harm."}`));
    } finally {
      this.file.value = ""; // so that the same file, mended, can be chosen again
    }
  }

  /** All that is pending as a file to fill in. */
  async download() {
    try {
      const lines = [["id", "row", "col", "mean", "sd", "value"]];
      for (let after = 0; after !== null; ) {
        const page = await api.get(`${this.path}/asked?status=pending&limit=1000&after=${after}`);
        for (const item of page.items) lines.push([item.id, label(item.row), label(item.col), item.mean ?? "", item.sd ?? "", ""]);
        after = page.next;
      }
      save("plate.csv", `${lines.map((line) => line.map(csvCell).join(",")).join("\n")}\n`);
    } catch (error) {
      this.refuse(error);
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
        await api.write(`${this.path}/${kind}`, { ids: [item.id], reason: reason.value.trim(), who: name(), ...more });
        box.close();
        toast(kind === "fail" ? "Marked as failed." : "Withdrawn.");
        this.changed();
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    };
    const again = h("label", { class: "check" }, retry, " it may be asked for again");
    const form = h("form", { onsubmit: send }, h("p", {}, h("strong", {}, label(item.row)), " · ", h("strong", {}, label(item.col))), field("Reason", reason, "For the history; may be empty."),
      kind === "fail" ? again : null, problem, h("div", { class: "actions" }, h("button", { class: "primary" }, kind === "fail" ? "Mark as failed" : "Withdraw")));
    const box = dialog(kind === "fail" ? `Measuring id ${item.id} failed` : `Withdraw id ${item.id}`, form);
    reason.focus();
  }

  // What would be next

  /** The entries that `ask` would hand out, without asking for them. */
  async preview() {
    this.refuse(null);
    this.look.disabled = true;
    const turn = (this.turn = {});
    try {
      const plates = this.plates.value ? `&plates=${this.plates.value}` : "";
      const found = await api.made(`${this.path}/next?n=${Number(this.size.value) || 8}${plates}&wait=2`);
      if (this.turn === turn && found.version >= this.version) this.suggest(found); // else it is of another state by now
    } catch (error) {
      this.refuse(error);
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
    if (!found) return put(this.next);
    const most = Math.max(0, ...found.entries.map((line) => line.teaches ?? 0));
    const lines = found.entries.slice(0, LISTED).map((line, k) => {
      const place = h("button", { type: "button", class: "link", "aria-label": `show row ${label(line.row)}, column ${label(line.col)} on the map`, onclick: () => this.picked([line.i, line.j]) }, `${k + 1}.`);
      return h("li", {}, h("span", { class: "id" }, place), title(line), h("span", { class: "expected" }, this.expected(line)), h("span", { class: "acts note" }, `cost ${number(line.cost)}`), h("div", { class: "reason" }, why(line, most)));
    });
    const rest = found.total - lines.length;
    const said = lines.length ? `Chosen by ${found.why.replaceAll("_", " ")}. These are not asked for yet.` : found.why;
    put(this.next, h("h3", {}, "What would be asked for next"), h("p", { class: "note" }, said), h("ol", { class: "batch" }, lines), rest > 0 ? h("p", { class: "note" }, `and ${several(rest, "entry", "entries")} more, on the map`) : null);
  }
}

const title = (line) => h("strong", { class: "name" }, h("span", { class: "unseen" }, "row "), label(line.row), " · ", h("span", { class: "unseen" }, "column "), label(line.col));

/** Download a text as a file. */
export function save(filename, text, type = "text/csv") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: filename }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
