// The health of the last fit: a badge, which opens to say whether it has converged and which rank it uses.

import { embedded, h, put } from "./dom.js";

const { mostly_means: MOSTLY_MEANS } = embedded("thresholds"); // the weight of rank 0 that is reported

/** One or two sentences; empty if there is no fit yet. */
export function verdict(found) {
  if (!found || found.converged === undefined) return "";
  const which = found.fit.current ? "The fit" : "The last fit (a new one is running)";
  const said = [`${which} has ${found.converged ? "converged." : "not converged:"}${found.remark ? ` ${found.remark}` : ""}`];
  const means = found.rank_weights[0] ?? 0;
  if (means === 1) said.push("It uses rank 0: so far the data show little beyond row and column means, and the rest counts as noise.");
  else if (means >= MOSTLY_MEANS) said.push(`${Math.round(100 * means)}% of its chains have rank 0, row and column means alone; for them everything else counts as noise.`);
  else said.push(`Rank ${found.rank}.`);
  return said.join(" ");
}

export class Health {
  constructor() {
    this.name = h("summary", {}, "No fit yet");
    this.text = h("p", { id: "trust" });
    this.element = h("details", { class: "badge", id: "health" }, this.name, this.text);
  }

  update(found) {
    const known = found && found.converged !== undefined;
    this.element.dataset.state = !known ? "none" : found.converged ? "good" : "unsure";
    put(this.name, !known ? "No fit yet" : found.converged ? "Fit: good" : "Fit: uncertain");
    put(this.text, verdict(found) || "Estimates come with the first measurements.");
  }
}
