// The expected error as measurements came in, drawn by plotly.js, which is loaded when it is first needed.

import * as api from "./api.js";
import { h, put, toast } from "./dom.js";
import { moment, number, several } from "./format.js";

let library = null;

/** plotly.js, from the package that is installed beside the server; null where there is none. */
function plotly() {
  const { content: address, dataset } = document.querySelector("meta[name=plotly]");
  library ??= address === "" ? Promise.resolve(null) : new Promise((done) => {
    // The policy allows no style sheets inside the page: plotly.js leaves away those that it takes to be there.
    for (const id of dataset.sheets.split(" ").filter(Boolean)) document.head.append(h("meta", { id }));
    const script = h("script", { src: address, async: true, onload: () => done(window.Plotly), onerror: () => ((library = null), done(null)) });
    document.head.append(script);
  });
  return library;
}

export class Curve {
  constructor(path) {
    this.path = path;
    this.axis = "measurements";
    this.found = null;
    this.outlook = null;
    this.told = 0;
    this.chart = h("div", { class: "chart", role: "img", "aria-label": "Expected error of the matrix as measurements came in" });
    this.note = h("p", { class: "note" });
    this.more = h("button", { type: "button", hidden: true, onclick: () => this.fill() }, "Compute earlier points");
    this.buttons = [["measurements", "by measurements"], ["at", "by time"]].map(([axis, text]) =>
      h("button", { type: "button", "aria-pressed": String(axis === this.axis), "data-axis": axis, onclick: () => this.by(axis) }, text));
    this.element = h("section", { class: "card", "aria-labelledby": "curve-title" }, h("h2", { id: "curve-title" }, "Uncertainty"),
      h("div", { class: "tools" }, h("div", { class: "segments", role: "group", "aria-label": "Along the axis" }, this.buttons), this.more), this.chart, this.note);
    this.scheme = () => this.draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.scheme);
    document.addEventListener("themechange", this.scheme);
  }

  close() {
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.scheme);
    document.removeEventListener("themechange", this.scheme);
    window.Plotly?.purge(this.chart);
  }

  by(axis) {
    this.axis = axis;
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button.dataset.axis === axis));
    this.draw();
  }

  /** The expected error of all that was told, if it is known. */
  get error() {
    const last = this.found?.points.at(-1);
    return last && last.measurements === this.told ? last.error : null;
  }

  /** The points at hand. */
  async update({ measurements, error_of: of }) {
    this.told = measurements;
    this.of = of;
    this.found = await api.get(`${this.path}/curve?stale=true`);
    this.more.hidden = this.found.missing === 0;
    this.more.textContent = `Compute ${several(this.found.missing, "earlier point")}`;
    await this.draw();
  }

  /** Have the missing points made in the background; they are shown as they come. */
  async fill() {
    this.more.disabled = true;
    try {
      await api.made(`${this.path}/curve?wait=1`);
      await this.update(this.told);
    } catch (error) {
      if (error.kind !== "cancelled") toast(error.message, "bad");
    } finally {
      this.more.disabled = false;
    }
  }

  /** What the next batch would change. */
  expect(outlook) {
    this.outlook = outlook;
    this.draw();
  }

  async draw() {
    const points = this.found?.points ?? [];
    const last = points[points.length - 1];
    this.chart.dataset.points = String(points.length);
    this.say(points);
    this.chart.hidden = points.length === 0;
    if (!points.length) return;
    const Plotly = await plotly();
    if (!Plotly) return put(this.note, "The chart needs plotly: pip install 'maxentry[server]'.");
    const style = getComputedStyle(this.chart);
    const of = (name) => style.getPropertyValue(name).trim();
    const x = points.map((point) => point[this.axis]);
    const shown = points.map((point) => `${number(point.error)} after ${point.measurements}<br>${moment(point.at)}`);
    const traces = [{ x, y: points.map((point) => point.error), text: shown, hoverinfo: "text", mode: "lines+markers", name: "expected error",
      line: { color: of("--accent"), width: 2 }, marker: { size: 7 } }];
    if (this.found.target_sd !== null) traces.push({ x: [x[0], x[x.length - 1]], y: [this.found.target_sd, this.found.target_sd], mode: "lines", name: "target", hoverinfo: "y+name", line: { color: of("--faint"), dash: "dot" } });
    if (this.outlook && this.axis === "measurements" && this.outlook.entries) {
      const after = last.measurements + this.outlook.entries;
      traces.push({ x: [last.measurements, after], y: [last.error, this.outlook.error_after], mode: "lines+markers", name: `after ${this.outlook.entries} more`,
        hoverinfo: "y+name", line: { color: of("--next"), dash: "dash", width: 2 }, marker: { size: 7 } });
    }
    const axis = { color: of("--faint"), gridcolor: of("--rule"), linecolor: of("--rule"), zeroline: false, automargin: true, fixedrange: true };
    const layout = {
      height: 260, margin: { l: 50, r: 12, t: 8, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: traces.length > 1,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { color: of("--ink") } }, font: { family: "system-ui, sans-serif", size: 12, color: of("--ink") },
      xaxis: { ...axis, title: { text: this.axis === "at" ? "time" : "measurements" } }, yaxis: { ...axis, rangemode: "tozero", title: { text: "expected error" } },
      hoverlabel: { bgcolor: of("--paper"), bordercolor: of("--rule"), font: { color: of("--ink") } }, dragmode: false,
    };
    await Plotly.react(this.chart, traces, layout, { displayModeBar: false, responsive: true });
  }

  say(points) {
    if (!points.length) return put(this.note, "No fit yet. Every fit adds a point.");
    const last = points[points.length - 1];
    const now = last.measurements === this.told ? "now" : `after ${last.measurements} measurements`;
    const ahead = this.outlook?.entries ? `, and after the ${this.outlook.entries} that would be next ${number(this.outlook.error_after)}` : "";
    const off = `expected to be off by ${number(last.error)} (root mean square)`;
    const said = { measurement: `The completed table is ${off} from what measurements would show`, entry: `The completed table is ${off} from the entries themselves`, probability: `The probabilities of yes are ${off}`, grade: `The expected grades are ${off}` };
    put(this.note, `${said[this.of]} ${now}${ahead}.`);
  }
}
