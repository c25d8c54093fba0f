// What the values of a campaign are (numbers, yes or no, grades): words instead of codes, boxes to enter them, legends.

import { h } from "./dom.js";
import { believed, limits, number, percent } from "./format.js";

const NUMBERS = "A number, or a limit: <0.5, >100, 0.5..0.7";
const SAYS = {
  "yes/no": { mean: "probability of yes of every entry", sd: "standard deviation of the probability of yes", value: "yes and no as measured, and the next batch" },
  grades: { mean: "expected grade of every entry", sd: "standard deviation of the expected grade", value: "grades that were measured, and the next batch" },
};
const GUESS = { numbers: "mean ± sd", "yes/no": "probability of yes", grades: "expected grade" };
const whole = Math.round;

export class Kind {
  /** By the status of a campaign. */
  constructor({ kind = "numbers", levels = null } = {}) {
    this.name = kind;
    this.yesNo = kind === "yes/no";
    this.levels = kind === "grades" ? levels : null;
    this.words = this.yesNo ? ["yes", "no"] : (levels ?? []).map(String); // that may be told
    this.unit = ""; // what values are measured in
    this.named = this.levels !== null && typeof this.levels[0] === "string"; // told as 1, 2, …
  }

  // Numbers that stand for words

  /** A told number, or an average of several, in words. */
  told(x, digits = 3) {
    if (x === null || x === undefined) return "–";
    if (this.yesNo) return x === 1 ? "yes" : x === 0 ? "no" : `${percent(x)} yes`;
    if (!this.named) return number(x, digits);
    const near = this.levels[whole(x) - 1];
    return x === whole(x) ? near : `${near} (${number(x, digits)})`;
  }

  /** The best guess of an entry, and how far it may be off. */
  guess(mean, sd) {
    if (mean === null || mean === undefined) return "–";
    if (this.yesNo) return sd === null || sd === undefined ? percent(mean) : `${percent(mean)} ± ${percent(sd)}`;
    return this.named ? `${this.levels[whole(mean) - 1]} (${believed(mean, sd)})` : believed(mean, sd);
  }

  /** The most likely grade of an entry and the probability of each, as pairs of a name and a text; none for other kinds. */
  grades({ most_likely: most, probabilities }) {
    if (!this.levels || !probabilities) return [];
    const each = this.named ? this.words.map((name) => [name, probabilities[name]]) : Object.entries(probabilities).sort(([a], [b]) => a - b);
    return [["most likely grade", most], ["probabilities", each.map(([name, p]) => `${name} ${percent(p)}`).join(", ")]];
  }

  /** An interval of the best guess. */
  interval(low, high) {
    const show = this.yesNo ? percent : (x) => number(x);
    return `${show(low)} to ${show(high)}`;
  }

  /** What a new measurement would show. */
  reading(low, high) {
    const [from, to] = [this.told(low), this.told(high)];
    return from === to && this.words.length ? from : this.yesNo ? "yes or no" : `${from} to ${to}`;
  }

  /** A measurement as it was told, with its standard error where it has one. */
  measured(m, digits) {
    if (m.value === null) return "struck out";
    const show = (x) => number(x, digits);
    const text = this.yesNo || this.named ? m.text : m.limits ? limits(m.limits, show) : show(m.value);
    return text + (m.se ? ` ± ${show(m.se)}` : "");
  }

  /** A number of a map: of the best guess, its sd, what was told, or how often. */
  shown(what, x) {
    if (what === "value") return this.told(x);
    if (what === "mean") return this.guess(x);
    return this.yesNo && (what === "sd" || what === "width") && x !== null ? percent(x) : number(x);
  }

  // Legends

  says(what, usual) {
    const said = (SAYS[this.name]?.[what] ?? usual) + (this.unit ? ` (${this.unit})` : "");
    return this.levels && what !== "sd" && SAYS[this.name][what] ? `${said}: ${this.levels.join(", ")}` : said;
  }

  /** The ends of the colours of a map; null where they are those of its numbers. */
  range(what) {
    if (what !== "mean" && what !== "value") return null;
    if (this.yesNo) return [0, 1];
    return this.levels && (this.named ? [1, this.levels.length] : [this.levels[0], this.levels.at(-1)]);
  }

  /** An end of the colours in words. */
  end(what, x) {
    return this.named && (what === "mean" || what === "value") ? this.told(x) : this.shown(what, x);
  }

  get guessName() {
    return GUESS[this.name];
  }

  // Entering

  /** What may be entered. */
  get hint() {
    return this.words.length ? `${this.words.slice(0, -1).join(", ")} or ${this.words.at(-1)}` : NUMBERS;
  }

  /** Why a value was refused, as a sentence; of numbers with what may be entered, which that of words says already. */
  refusal(said) {
    const sentence = said[0].toUpperCase() + said.slice(1);
    return this.words.length ? sentence : `${sentence} ${this.hint}.`;
  }

  /** A box for a value; where there are words to choose from, it offers them. */
  box(properties = {}) {
    const words = this.words.length > 0;
    if (words) this.offer();
    return h("input", { type: "text", inputMode: words ? "text" : "decimal", autocomplete: "off", list: words ? "kind-words" : null, ...properties });
  }

  /** Put the list of words into the page, once. */
  offer() {
    const text = JSON.stringify(this.words);
    const there = document.getElementById("kind-words");
    if (there?.dataset.words === text) return;
    there?.remove();
    document.body.append(h("datalist", { id: "kind-words", "data-words": text }, this.words.map((value) => h("option", { value }))));
  }
}
