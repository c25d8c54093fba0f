// What the values that were just saved have changed: the expected error, the greatest surprise, the answer.

import { h, put } from "./dom.js";
import { label, number, percent } from "./format.js";

const SURPRISE = 2; // sds from the estimate, from which on a value is named

/** The value that is furthest from its estimate, in sds; null where none is far or nothing was expected. */
export function surprise(lines, kind) {
  if (kind.words.length) return null;
  const off = lines.map(({ item, text }) => {
    const [mean, sd] = (item.mean_now ?? null) === null ? [item.mean, item.sd] : [item.mean_now, item.sd_now];
    return { item, value: Number(text), mean, sd, far: sd > 0 ? Math.abs(Number(text) - mean) / sd : 0 };
  }).filter(({ far }) => far >= SURPRISE).sort((a, b) => b.far - a.far);
  return off[0] ?? null;
}

/** What a sentence of an answer recommends, without probabilities and what else it may be. */
const winner = (line) => line.split(/ \x28|, or /)[0];

export class Changes {
  constructor(element, kind) {
    Object.assign(this, { element, kind });
    this.before = null;
  }

  /** Values were saved: remember how things stood. */
  saved(said, lines, { error, answer }) {
    this.before = { said, error, answer, far: surprise(lines, this.kind) };
    this.show([said, "The fit is running …"]);
  }

  /** A fit of everything that was saved is there. */
  fitted({ error, answer }) {
    if (!this.before) return;
    const { said, error: was, answer: once, far } = this.before;
    this.before = null;
    const parts = [said];
    if (was > 0 && error > 0) parts.push(`Expected error ${number(was)} → ${number(error)} (${error <= was ? "−" : "+"}${percent(Math.abs(error / was - 1))}).`);
    else if (error > 0) parts.push(`Expected error ${number(error)}.`);
    if (far) parts.push(`Furthest from its estimate: ${label(far.item.row)} · ${label(far.item.col)}, measured ${number(far.value)}, expected ${this.kind.guess(far.mean, far.sd)}.`);
    const before = once?.map(winner);
    const moved = answer?.filter((line) => before && !before.includes(winner(line))) ?? [];
    if (moved.length) parts.push(`New answer: ${moved[0]}${moved.length > 1 ? ` (and ${moved.length - 1} more below)` : ""}`);
    this.show(parts);
  }

  show(parts) {
    const close = h("button", { type: "button", class: "quiet small", "aria-label": "Close", onclick: () => put(this.element) }, "✕");
    put(this.element, h("p", {}, h("strong", {}, "What changed: "), parts.join(" ")), close);
  }
}
