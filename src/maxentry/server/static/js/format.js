// Numbers, labels and times as people read them.

/** A number with so many digits that matter. */
export function number(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(digits - 1).replace("e+", "e");
  const shown = Number(x.toPrecision(digits));
  return shown.toLocaleString("en", { maximumFractionDigits: Math.max(0, digits - 1 - Math.floor(Math.log10(size))) });
}

/** A limit or a range as people write it: <0.5, >100 or 0.5..0.7. */
export function limits([low, high], show = String) {
  if (low === null) return `<${show(high)}`;
  return high === null ? `>${show(low)}` : `${show(low)}..${show(high)}`;
}

/** A whole number with thousands apart. */
export const count = (n) => n.toLocaleString("en");

/** A share of 1 in per cent. */
export const percent = (x) => (x > 0 && x < 0.01 ? `${number(100 * x, 2)}%` : `${number(100 * x, x < 0.1 ? 2 : 3)}%`);

/** Mean ± sd. */
export function believed(mean, sd) {
  if (mean === null || mean === undefined) return "–";
  if (sd === null || sd === undefined) return number(mean);
  const places = sd > 0 ? Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(sd)))) : 3;
  const inPlaces = (x) => (Math.abs(x) >= 1e6 ? number(x) : x.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places }));
  return `${inPlaces(mean)} ± ${inPlaces(sd)}`;
}

/** A label: text and numbers as they are, dates and tuples (with their kind, in JSON) as text. */
export function label(x) {
  if (x === null || typeof x !== "object") return String(x);
  const [[kind, value]] = Object.entries(x);
  return kind === "tuple" ? `(${value.map(label).join(", ")})` : String(value);
}

/** One thing or several of them. */
export const several = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

const MINUTE = 60, HOUR = 3600, DAY = 86400;

/** How long ago. */
export function ago(iso, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000);
  if (seconds < MINUTE) return "just now";
  if (seconds < HOUR) return `${several(Math.floor(seconds / MINUTE), "minute")} ago`;
  if (seconds < DAY) return `${several(Math.floor(seconds / HOUR), "hour")} ago`;
  if (seconds < 30 * DAY) return `${several(Math.floor(seconds / DAY), "day")} ago`;
  return moment(iso);
}

/** A moment in the reader's own time. */
export function moment(iso) {
  return new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** A cell of a CSV file: quoted where needed, with an apostrophe before text that a spreadsheet would run as a formula. */
export function csvCell(x) {
  const formula = /^'*[=+\-@\t\r]/.test(x) && !/^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i.test(x);
  const text = formula ? `'${x}` : String(x);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
