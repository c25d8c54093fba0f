// What to do next: one sentence at the top of a campaign, and its one primary button.

import { h, put } from "./dom.js";
import { count, number, percent, several } from "./format.js";

const ROUNDING = 1e-9;

const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

/** Whether nothing of the budget is left. */
export const isSpent = ({ budget, spent }) => budget !== null && spent >= budget * (1 - ROUNDING);

/**
 * The next step by the status, what would be next, and what is typed: `text`, the button's `label` and `act` (ask,
 * enter, save, download), and `rests` where nothing can be asked for.
 */
export function nextStep({ status, suggested, filled, n: wanted, plates, choosing, busy, goal }) {
  const { pending, available, measurements } = status;
  const n = plates ? wanted : Math.min(wanted, available || wanted); // no more than there are
  if (filled) return { text: `${several(filled, "value")} of ${several(pending, "pending entry", "pending entries")} entered.`, label: `Save ${several(filled, "value")}`, act: "save" };
  if (pending) return { text: `Measure the ${several(pending, "pending entry", "pending entries")}, then enter the values.`, label: "Enter values", act: "enter" };
  const label = choosing ? "Choosing …" : plates ? `Ask for ${several(n, plates === "rows" ? "row" : "column")}` : `Ask for ${several(n, "entry", "entries")}`;
  if (isSpent(status)) return { text: `Budget spent: ${number(status.spent)} of ${number(status.budget)}. To go on, raise it in the settings.`, label, act: "ask", rests: true };
  if (!available) return { text: measurements ? "Every entry is measured. Download the completed table." : "No entry can be measured.", label: "Download the completed table", act: "download", rests: !measurements };
  if (suggested && !suggested.entries.length) return { text: capital(suggested.why), label, act: "ask", rests: true };
  if (!measurements) return { text: "Ask for the first entries. They are spread evenly over rows and columns.", label, act: "ask", waits: choosing };
  const batch = plates ? "the next batch" : n === available ? `the last ${n === 1 ? "entry" : several(n, "entry", "entries")}` : `the next ${several(n, "entry", "entries")}`;
  const fall = expectedFall(suggested, goal);
  const more = { label, act: "ask", waits: choosing };
  const stake = suggested?.at_stake;
  const all = several(suggested?.total ?? 0, "more measurement");
  const by = !(fall > 0) ? "0%" : fall < 1e-4 ? "less than 0.01%" : percent(fall);
  if (suggested?.stop) return { text: `${stake ? `${all} should not change the answer` : `${all} would lower ${WHAT(goal)} by ${by}`}. You can stop here.`, ...more };
  if (stake && fall !== null) return { text: `Ask for ${batch}: should lower ${WHAT(goal)} by ${by} and change ${number(stake.changes, 2)} of ${count(stake.choices)} ${CHOICES(goal)}.`, ...more };
  if (fall === null) return { text: `Ask for ${batch}.${busy ? " The fit is still running." : ""}`, ...more };
  return { text: `Ask for ${batch}: should lower ${WHAT(goal)} by ${by}.`, ...more };
}

/** What a batch is to lower, by the goal. */
const WHAT = (goal) => (goal === "fill" ? "the expected error" : goal.startsWith("rank") ? "the pairs in the wrong order" : goal.startsWith("threshold") ? "the entries on the wrong side" : "the expected regret");

/** What it is to change, as `maxentry status` says. */
const CHOICES = (goal) => (goal.startsWith("rank") ? "pairs" : goal.startsWith("threshold") ? "entries" : "choices");

/** By which share the entries that would be next should lower that; null where it is not known. */
function expectedFall(suggested, goal) {
  const { outlook, at_stake: stake } = suggested ?? {};
  const [before, after] = goal === "fill" ? [outlook?.error_with_pending, outlook?.error_after] : [stake?.now, stake?.after];
  return before > 0 ? 1 - after / before : null;
}

export class Guide {
  /** `acts`: a function for each act. */
  constructor(acts) {
    this.text = h("p", { class: "step", id: "step" });
    this.button = h("button", { type: "button", class: "primary write", id: "do", "aria-describedby": "step", onclick: () => acts[this.step.act]() });
    this.changes = h("div", { class: "changes", role: "status" });
    this.doubts = h("ul", { class: "doubts", "aria-label": "Values to look at", hidden: true });
    this.element = h("section", { class: "guide", "aria-label": "What to do next" }, h("div", { class: "do" }, this.text, this.button), this.doubts, this.changes);
  }

  update(facts) {
    this.step = nextStep(facts);
    if (this.text.textContent !== this.step.text) put(this.text, this.step.text);
    put(this.button, this.step.label);
    this.doubts.hidden = !facts.status.notes.length;
    put(this.doubts, ...facts.status.notes.map((note) => h("li", {}, note)));
    this.button.disabled = Boolean(this.step.rests || this.step.waits);
    this.button.classList.toggle("rests", Boolean(this.step.rests));
    this.element.dataset.act = this.step.rests ? "rest" : this.step.act;
  }
}
