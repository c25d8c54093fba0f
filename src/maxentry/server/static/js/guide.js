// What to do next: one sentence at the top of a campaign, and its one primary button.

import { h, put } from "./dom.js";
import { number, percent, several } from "./format.js";

const ROUNDING = 1e-9;
const LITTLE = 0.01; // an improvement that is called less than 1%

const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

/** Whether nothing of the budget is left. */
export const isSpent = ({ budget, spent }) => budget !== null && spent >= budget * (1 - ROUNDING);

/**
 * The next step by the status, what would be next, and what is typed: `text`, the button's `label` and `act` (ask,
 * enter, save, download), and `rests` where nothing can be asked for.
 */
export function nextStep({ status, suggested, filled, n, plates, choosing, busy, goal }) {
  const { pending, available, measurements } = status;
  if (filled) return { text: `${several(filled, "value")} of ${several(pending, "pending entry", "pending entries")} entered.`, label: `Save ${several(filled, "value")}`, act: "save" };
  if (pending) return { text: `Measure the ${several(pending, "pending entry", "pending entries")}, then enter the values.`, label: "Enter values", act: "enter" };
  const label = choosing ? "Choosing …" : plates ? `Ask for ${several(n, plates === "rows" ? "row" : "column")}` : `Ask for ${several(n, "entry", "entries")}`;
  if (isSpent(status)) return { text: `Budget spent: ${number(status.spent)} of ${number(status.budget)}. To go on, raise it in the settings.`, label, act: "ask", rests: true };
  if (!available) return { text: measurements ? "Every entry is measured. Download the completed table." : "No entry can be measured.", label: "Download the completed table", act: "download", rests: !measurements };
  if (suggested && !suggested.entries.length) return { text: capital(suggested.why), label, act: "ask", rests: true };
  if (!measurements) return { text: "Ask for the first entries. They are spread evenly over rows and columns.", label, act: "ask", waits: choosing };
  const { outlook } = suggested ?? {};
  const before = outlook?.error_with_pending;
  const fall = before > 0 ? 1 - outlook.error_after / before : null;
  const batch = plates ? "the next batch" : `the next ${several(n, "entry", "entries")}`;
  if (fall !== null && goal === "fill") {
    if (fall < LITTLE) return { text: `${several(outlook.entries, "more measurement")} would lower the expected error by less than 1%. You can stop here.`, label, act: "ask", waits: choosing };
    return { text: `Ask for ${batch}: should lower the expected error by ${percent(fall)}.`, label, act: "ask", waits: choosing };
  }
  return { text: `Ask for ${batch}.${busy ? " The fit is still running." : ""}`, label, act: "ask", waits: choosing };
}

export class Guide {
  /** `acts`: a function for each act. */
  constructor(acts) {
    this.text = h("p", { class: "step", id: "step" });
    this.button = h("button", { type: "button", class: "primary write", id: "do", "aria-describedby": "step", onclick: () => acts[this.step.act]() });
    this.changes = h("div", { class: "changes", role: "status" });
    this.element = h("section", { class: "guide", "aria-label": "What to do next" }, h("div", { class: "do" }, this.text, this.button), this.changes);
  }

  update(facts) {
    this.step = nextStep(facts);
    if (this.text.textContent !== this.step.text) put(this.text, this.step.text);
    put(this.button, this.step.label);
    this.button.disabled = Boolean(this.step.rests || this.step.waits);
    this.button.classList.toggle("rests", Boolean(this.step.rests));
    this.element.dataset.act = this.step.rests ? "rest" : this.step.act;
  }
}
