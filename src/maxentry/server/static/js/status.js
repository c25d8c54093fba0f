// The status of a campaign: counts, budget and target, history, and jobs in the background.

import * as api from "./api.js";
import { h, put, toast } from "./dom.js";
import { ago, count, moment, number, percent } from "./format.js";
import { limitOf } from "./goal.js";

// What the expected error is of: in short, and in full
const ERROR = {
  measurement: ["against measurements", "how far the completed table is from what a measurement of each entry would show, noise included: the root mean square over all entries"],
  entry: ["of the entries themselves", "how far the completed table is from the entries themselves, without the noise of a measurement: the root mean square over all entries"],
  probability: ["of the probability of yes", "how far the probabilities of yes may be off: the root mean square over all entries"],
  grade: ["of the expected grade", "how far the expected grades may be off: the root mean square over all entries"],
};

/** The figures at the top. */
export function facts(status, error) {
  const [short, full] = ERROR[status.error_of];
  const all = status.told + status.pending + status.available + status.failed;
  const lost = [[status.failed, "failed"], [status.withdrawn, "withdrawn"], [status.expired, "expired"]].filter(([n]) => n > 0);
  const again = status.measurements - status.told;
  const lines = [
    ["measured", `${count(status.told)}`, `${percent(all ? status.told / (status.rows * status.cols) : 0)} of ${count(status.rows * status.cols)}${again > 0 ? `, ${again} again` : ""}`],
    ["expected error", number(error), status.target_sd === null ? short : `target ${number(status.target_sd)}`, full],
    ...values(status),
    ...features(status),
    ["pending", count(status.pending), status.pending ? "to be measured" : "none"],
    ["left to ask", count(status.available), status.goal && status.goal !== "fill" ? status.goal : status.acquisition.replaceAll("_", " ")],
    ["failed or withdrawn", count(status.failed + status.withdrawn), lost.map(([n, word]) => `${count(n)} ${word}`).join(", ") || "none"],
    status.budget === null ? ["spent", number(status.spent), "no budget set"] : ["budget left", number(Math.max(0, status.budget - status.spent)), `${number(status.spent)} of ${number(status.budget)} spent`],
  ];
  return h("dl", { class: "facts" }, lines.map(([title, figure, note, meaning]) => h("div", { title: meaning }, h("dt", {}, title), h("dd", {}, figure), h("dd", { class: "note" }, note))));
}

/** What the values are, and how many are at a limit; nothing for plain numbers. */
function values({ kind, levels, limits, measurements, at_limit: at }) {
  if (kind !== "numbers") return [["values", kind === "grades" ? `${levels.length} grades` : kind, kind === "grades" ? levels.join(", ") : "answers are probabilities"]];
  if (!limits && !at) return [];
  return [["at a limit", count(at), `of ${count(measurements)} values${limits ? `; ${scale(limits)}` : ""}`]];
}

/** What is known of rows and columns; nothing where nothing is. */
function features({ row_features: rows, col_features: cols }) {
  const sides = [["rows", rows], ["columns", cols]].filter(([, known]) => known);
  const named = ({ n, names }) => `${names.join(", ")}${n > names.length ? ", …" : ""}`;
  if (!sides.length) return [];
  return [["features", sides.map(([, { n }]) => count(n)).join(" and "), sides.map(([side, known]) => `of ${side}: ${named(known)}`).join("; ")]];
}

/** The ends of the scale. */
function scale([low, high]) {
  if (low === null) return `scale up to ${number(high)}`;
  return high === null ? `scale from ${number(low)} on` : `scale from ${number(low)} to ${number(high)}`;
}

/** The budget and target. */
export class Budget {
  constructor(change) {
    this.body = h("div");
    this.element = h("section", { class: "card", "aria-labelledby": "budget-title" }, h("h2", { id: "budget-title" }, "Budget and target"), this.body,
      h("button", { type: "button", class: "write", onclick: change }, "Change …"));
  }

  update(status) {
    const { spent, budget, target_sd: target } = status;
    const left = budget === null ? null : Math.max(0, budget - spent);
    const limit = limitOf(status);
    const error = target === null ? "No target for the expected error." : `Ends when the expected error is ${number(target)}.`;
    const goal = limit ?? (status.goal === "fill" ? null : "No target for the goal.");
    put(
      this.body,
      budget === null ? h("p", {}, `${number(spent)} spent; no limit is set.`)
        : [h("p", { class: "spent" }, h("strong", {}, number(spent)), " spent, ", h("strong", {}, number(left)), ` left of ${number(budget)}`),
           h("progress", { max: Math.max(budget, 1e-12), value: Math.min(spent, budget), "aria-label": "spent of the budget" })],
      goal === null ? null : h("p", { class: "note" }, goal),
      limit !== null && target === null ? null : h("p", { class: "note" }, error),
      h("p", { class: "note" }, "Pending entries count as spent."),
      status.limits ? h("p", { class: "note" }, `Values: ${scale(status.limits)}; a value at an end means at or beyond it.`) : null,
    );
  }
}

/** The history, latest first. */
export class History {
  constructor(path) {
    this.path = path;
    this.shown = 12;
    this.list = h("ol", { class: "events" });
    this.more = h("button", { type: "button", onclick: () => ((this.shown += 50), this.update(this.version)) }, "Earlier …");
    this.element = h("section", { class: "card", "aria-labelledby": "history-title" }, h("h2", { id: "history-title" }, "History"), this.list, this.more);
  }

  async update(version) {
    this.version = version;
    const after = Math.max(0, version - this.shown);
    const page = await api.get(`${this.path}/history?after=${after}&limit=${Math.min(1000, this.shown)}`);
    put(this.list, page.items.reverse().map((line) =>
      h("li", {}, h("span", { class: `kind ${line.kind}` }, ...inWords(line)), h("small", { class: "note", title: moment(line.at) }, `${line.who ?? "?"}, ${ago(line.at)}`))));
    this.more.hidden = after === 0;
  }
}

const HAPPENED = { asked: "asked for", told: "saved", rows_added: "added rows", cols_added: "added columns" };

/** An event in words: what was done, and to what. */
function inWords({ kind, what }) {
  if (kind === "told" && what.startsWith("imported")) return [what];
  return [HAPPENED[kind] ?? kind, h("span", { class: "plain" }, ` ${what}`)];
}

/** Jobs in the background, with their progress. */
export class Work {
  constructor() {
    this.element = h("div", { class: "work", role: "status", "aria-live": "polite" });
  }

  update(work) {
    const names = { fit: "Fitting", ask: "Choosing entries", outlook: "Computing the outlook", next: "Choosing entries", curve: "Computing earlier points", report: "Writing the report" };
    this.element.dataset.jobs = work.map((job) => job.kind).join(" ");
    put(this.element, work.map((job) => {
      const { what, done, total } = job.progress;
      const bar = total > 0 ? h("progress", { max: total, value: Math.min(done, total), "aria-label": "progress" }) : h("progress", { "aria-label": "progress" });
      const cancel = job.kind === "curve" ? h("button", { type: "button", class: "link write", onclick: () => stop(job.id) }, "stop") : null;
      return h("span", { class: "job" }, h("span", {}, job.status === "queued" ? `${names[job.kind]}: waiting` : `${names[job.kind]}${what ? `: ${what}` : ""}`), bar, cancel);
    }));
  }
}

async function stop(id) {
  try {
    await api.write(`/jobs/${encodeURIComponent(id)}`, null, { method: "DELETE" });
  } catch (error) {
    toast(error.message, "bad");
  }
}

/** Size and progress of a campaign in one line. */
export const inShort = (line) => `${count(line.rows)} × ${count(line.cols)} · ${count(line.told)} measured · ${count(line.pending)} pending`;
