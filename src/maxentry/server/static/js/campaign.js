// One campaign: shows everything, follows changes, and starts a fit after new values.

import * as api from "./api.js";
import { Answer } from "./answer.js";
import { Batch } from "./batch.js";
import { Changes } from "./changes.js";
import { Curve } from "./curve.js";
import { h, isTyping, put, toast } from "./dom.js";
import { completed, downloadMenu } from "./downloads.js";
import { Entries, Panel, Tooltip } from "./entry.js";
import { Budget, facts, History, Work } from "./status.js";
import { label } from "./format.js";
import { Guide } from "./guide.js";
import { Health } from "./health.js";
import { Kind } from "./kind.js";
import { HeatMap, KINDS } from "./map.js";
import { addLabels, changeSettings, removeLabels } from "./settings.js";

const SMALL = 20000; // entries of a matrix of which everything is worked out without being asked for

export class CampaignPage {
  constructor(main, id) {
    this.main = main;
    this.path = `/campaigns/${encodeURIComponent(id)}`;
    this.seen = { version: -1, fit: undefined, work: "" };
    this.asked = null; // the version of which a fit was begun
  }

  async open() {
    await this.load();
    if (this.closed) return;
    this.build();
    this.keys = (event) => this.key(event);
    document.addEventListener("keydown", this.keys);
    this.stop = api.follow(`${this.path}/changes`, (news) => this.heard(news), (error) => this.lost(error));
  }

  async load() {
    [this.status, this.settings] = await Promise.all([api.get(this.path), api.get(`${this.path}/settings`)]);
  }

  close() {
    this.closed = true;
    this.stop?.();
    if (this.keys) document.removeEventListener("keydown", this.keys);
    this.map?.close();
    this.curve?.close();
  }

  build() {
    const changed = () => this.changed();
    this.entries = new Entries(this.path);
    this.kind = new Kind(this.status); // it never changes
    this.kind.unit = this.settings.unit ?? "";
    this.tooltip = new Tooltip(this.entries, this.kind);
    this.panel = new Panel(this.path, this.entries, this.kind, { changed, closed: () => this.map.leave() });
    this.map = new HeatMap(this.path, this.kind, {
      chosen: (pointed) => this.tooltip.show(pointed),
      pinned: (entry) => this.panel.show(entry),
      failed: (error) => toast(error.message, "bad"),
    });
    this.map.element.querySelector(".stage-box").append(this.tooltip.element);
    this.guide = new Guide({ ask: () => this.batch.ask(), enter: () => this.batch.enter(), save: () => this.batch.tell(), download: () => completed(this.path, this.status.name) });
    this.changes = new Changes(this.guide.changes, this.kind);
    this.answer = new Answer(this.path, this.kind);
    this.batch = new Batch(this.path, this.kind, this.status, {
      changed,
      picked: (entry) => this.map.goTo(entry),
      previewed: (found) => this.expect(found),
      saved: (said, lines) => this.changes.saved(said, lines, { error: this.curve.error, answer: this.answer.sentences }),
      acted: () => this.lead(),
    });
    this.curve = new Curve(this.path);
    const set = () => changeSettings(this.path, changed).catch((error) => toast(error.message, "bad"));
    this.budget = new Budget(set);
    this.history = new History(this.path);
    this.work = new Work();
    this.facts = h("div", { class: "numbers" });
    this.health = new Health();
    this.live = h("span", { class: "pill live", title: "changes of others appear by themselves" }, "live");
    this.title = h("h1", { tabIndex: -1 }, this.status.name);
    document.title = `${this.status.name} · maxentry`;
    const act = (text, onclick) => h("button", { type: "button", class: "write", onclick }, text);
    put(
      this.main,
      h("nav", { class: "crumbs", "aria-label": "Breadcrumb" }, h("a", { href: "#/" }, "Campaigns"), " › "),
      h("div", { class: "title" }, this.title, this.live, this.health.element, this.work.element, h("span", { class: "gap" }),
        act("Settings", set), downloadMenu(this.path, this.status.name)),
      this.guide.element,
      h("div", { class: "layout" },
        this.answer.element,
        this.facts,
        h("div", { class: "column" }, h("section", { class: "card matrix", "aria-labelledby": "map-title" }, h("div", { class: "title" }, h("h2", { id: "map-title" }, "The matrix"), h("span", { class: "gap" }), this.finder()), this.map.element, this.panel.element,
          h("div", { class: "inline write" }, act("Add rows …", () => addLabels(this.path, "row", changed)), act("Add columns …", () => addLabels(this.path, "col", changed)), act("Remove …", () => removeLabels(this.path, changed)))),
        this.curve.element, this.budget.element, this.history.element),
        h("div", { class: "column" }, this.batch.element)),
    );
  }

  /** Say what to do next. */
  lead() {
    if (!this.batch) return;
    const { batch } = this;
    if (this.title.textContent !== this.status.name) {
      document.title = `${this.status.name} · maxentry`; // it was renamed
      put(this.title, this.status.name);
    }
    this.guide.update({ status: this.status, suggested: batch.suggested, filled: batch.filled.length, n: Number(batch.size.value) || 8, plates: batch.plates.value,
      choosing: batch.choosing, busy: this.seen.fit !== this.seen.version, goal: this.settings.goal });
    batch.asker.disabled = Boolean(this.guide.step.rests || batch.choosing);
    batch.asker.title = this.guide.step.rests ? this.guide.step.text : "";
  }

  /** Go to an entry by its labels. */
  finder() {
    const row = h("input", { type: "text", size: 8, autocomplete: "off", placeholder: "row", "aria-label": "row to go to" });
    const col = h("input", { type: "text", size: 8, autocomplete: "off", placeholder: "column", "aria-label": "column to go to" });
    return h("form", { class: "inline finder", role: "search", onsubmit: (event) => this.find(event, row, col) }, row, col, h("button", {}, "Go"));
  }

  async find(event, row, col) {
    event.preventDefault();
    const form = event.currentTarget;
    this.missed?.remove();
    try {
      const known = await api.get(`${this.path}/labels`);
      const entry = [[known.rows, row.value.trim()], [known.cols, col.value.trim()]].map(([labels, wanted]) =>
        wanted === "" ? 0 : labels.findIndex((one) => label(one).trim() === wanted));
      const missing = [[row, "row"], [col, "column"]].find((_, k) => entry[k] < 0);
      if (missing) return (this.missed = toast(`There is no ${missing[1]} ${missing[0].value.trim()}.`, "bad"));
      await this.map.goTo(entry);
      const active = document.activeElement; // by now somebody may be typing elsewhere
      if (active === document.body || form.contains(active)) this.map.stage.focus();
    } catch (error) {
      this.missed = toast(error.message, "bad");
    }
  }

  // Following

  /** Events may arrive faster than the page can update: then only the latest counts. */
  heard(news) {
    this.live.dataset.on = "yes";
    this.live.textContent = "live";
    this.work.update(news.work);
    this.latest = this.waiting = news;
    this.look();
  }

  /** Update after a write from this page: its event may arrive late. */
  changed() {
    this.written = true;
    this.look();
  }

  /** Run updates one after the other: of two at once the older might finish last. */
  async look() {
    if (this.busy) return;
    this.busy = true;
    while ((this.written || this.waiting) && !this.closed) {
      const { written, waiting } = this;
      if (written) this.written = false;
      else this.waiting = null;
      await (written ? this.refresh().catch((error) => toast(error.message, "bad")) : this.follow(waiting));
    }
    this.busy = false;
  }

  async follow({ version, fit, work }) {
    const { seen } = this;
    const ended = seen.work && seen.work !== work.map((job) => job.id).join(" ");
    this.seen = { version, fit, work: work.map((job) => job.id).join(" ") };
    try {
      if (version !== seen.version) {
        this.batch.heard(version);
        await this.refresh();
      }
      else if (fit !== seen.fit) await this.refitted();
      else if (ended || work.some((job) => job.kind === "curve")) await this.recurve();
      await this.keepFitting(work);
    } catch (error) {
      if (error.name === "AbortError") return;
      toast(error.message, "bad");
      this.seen = seen; // the stream tells only of what is new: look again by ourselves
      setTimeout(() => {
        this.waiting = this.latest; // by then there may be newer ones
        this.look();
      }, 5000);
    }
  }

  lost() {
    this.live.dataset.on = "no";
    this.live.textContent = "not connected";
  }

  /** Update everything; keep inputs, selection and zoom. */
  async refresh() {
    await this.load();
    this.kind.unit = this.settings.unit ?? "";
    this.lead();
    put(this.facts, facts(this.status, this.curve.error));
    this.budget.update(this.status);
    await Promise.all([this.history.update(this.status.events), this.refitted()]);
  }

  /** Update everything that depends on a fit. */
  async refitted() {
    this.entries.forget();
    const shape = [this.status.rows, this.status.cols];
    const reasons = async () => this.batch.update(await api.get(`${this.path}/reasons`));
    await Promise.all([this.map.update(shape), reasons(), this.curve.update(this.status), this.judge()]);
    put(this.facts, facts(this.status, this.curve.error));
    if (this.seen.fit === this.status.events && this.curve.error !== null) this.changes.fitted({ error: this.curve.error, answer: this.answer.sentences });
    if (this.panel.entry) await this.panel.show(this.panel.entry);
    this.lead();
    this.main.dataset.version = `${this.seen.version} ${this.seen.fit ?? "none"}`;
  }

  /** Show whether the last fit has converged, and its answer. */
  async judge() {
    const fitted = this.status.measurements > 0 && Number.isInteger(this.seen.fit);
    const [found] = await Promise.all([fitted ? api.get(`${this.path}/posterior?wait=0&stale=true`) : null, this.answer.update(this.settings.goal, fitted)]);
    this.health.update(found);
  }

  async recurve() {
    await this.curve.update(this.status);
    put(this.facts, facts(this.status, this.curve.error));
  }

  /** Start a fit if there are new values, one at a time; for small matrices then the outlook and the curve. */
  async keepFitting(work) {
    const { version, fit } = this.seen;
    const { measurements, pending, available } = this.status;
    if (work.some((job) => job.kind === "fit" || job.kind === "ask")) return;
    if (measurements > 0 && fit !== version) return this.fit(version);
    if (work.length || this.status.rows * this.status.cols > SMALL) return;
    if (pending === 0 && available > 0 && this.previewed !== version) {
      this.previewed = version;
      this.later(this.batch.preview());
    } else if (this.filled !== measurements && this.curve.found?.missing) {
      this.filled = measurements;
      this.later(this.curve.fill());
    }
  }

  /** Start it without waiting, since it may take long; then go on. */
  async later(work) {
    await work;
    if (this.closed) return;
    await this.recurve().catch(() => {});
    if (!this.busy) await this.keepFitting([]).catch(() => {});
  }

  /** Start a fit, once for each version; if it was started and is over, it failed: say why. */
  async fit(version) {
    if (this.asked === version) {
      const job = this.job && (await api.get(`/jobs/${encodeURIComponent(this.job)}`));
      this.job = null;
      if (job?.problem) toast(`The fit: ${job.problem.detail}`, "bad");
      return;
    }
    this.asked = version;
    const begun = await api.begin(`${this.path}/posterior?wait=0`);
    this.job = begun?.progress ? begun.id : null;
    if (begun) return;
    this.asked = null; // too much is going on: later
    setTimeout(() => this.closed || this.keepFitting([]).catch(() => {}), 10000);
  }

  expect(found) {
    this.map.suggest(found ? found.entries.map((line) => [line.i, line.j]) : []);
    this.curve.expect(found?.outlook ?? null);
  }

  // Keys

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const number = Number(event.key);
    const acts = {
      m: () => this.map.stage.focus(),
      a: () => this.batch.asker.focus(),
      v: () => this.batch.enter(),
      "+": () => this.map.zoom(0.5),
      "-": () => this.map.zoom(2),
    };
    if (number >= 1 && number <= KINDS.length) this.map.show(KINDS[number - 1]);
    else if (event.key === "0") this.map.all();
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }
}
