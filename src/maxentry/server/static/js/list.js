// The list of campaigns; where there are none, ways to begin.

import * as api from "./api.js";
import { author } from "./author.js";
import { listenForFiles } from "./batch.js";
import { CreateForm } from "./create.js";
import { fileBox, h, put, toast } from "./dom.js";
import { example } from "./example.js";
import { ago, count } from "./format.js";
import { inShort } from "./status.js";
import { colour } from "./scale.js";

const EVERY = 4000; // milliseconds between looks while the page is in sight
const PAGE = 100;
const PICTURES = 24; // campaigns that are shown with a small map of what was measured
const CELLS = 48; // of its sides

export class ListPage {
  constructor(main) {
    this.main = main;
  }

  async open() {
    document.title = "maxentry";
    this.cards = h("ul", { class: "campaigns" });
    this.note = h("p", { class: "note" });
    this.welcome = welcome();
    put(
      this.main,
      h("div", { class: "title" }, h("h1", { tabIndex: -1 }, "Campaigns"), h("span", { class: "gap" }), h("button", { type: "button", class: "primary write", id: "new", onclick: () => new CreateForm() }, "New campaign")),
      this.note,
      this.welcome,
      this.cards,
    );
    await this.update();
    if (this.closed) return;
    this.timer = setInterval(() => document.hidden || this.update().catch(() => {}), EVERY);
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
  }

  async update() {
    let page = await api.get(`/campaigns?limit=${PAGE}`);
    if (page.total > PAGE) page = await api.get(`/campaigns?limit=${PAGE}&after=${page.total - PAGE}`); // those begun last
    const lines = page.items.sort((a, b) => b.changed_at.localeCompare(a.changed_at));
    const said = JSON.stringify(lines);
    if (said === this.said) return this.times();
    this.said = said;
    const here = document.activeElement?.getAttribute("href");
    put(this.cards, lines.map((line, k) => card(line, k < PICTURES)));
    this.welcome.hidden = page.total > 0;
    put(this.note, page.total > lines.length ? `The last ${lines.length} of ${count(page.total)}.` : "");
    if (here) [...this.cards.querySelectorAll("a")].find((link) => link.getAttribute("href") === here)?.focus();
  }

  times() {
    for (const time of this.cards.querySelectorAll("time")) time.textContent = ago(time.dateTime);
  }
}

/** What is shown while there are no campaigns: drop a file, try the example, or name rows and columns. */
function welcome() {
  const file = fileBox((chosen) => new CreateForm(chosen), { class: "unseen", tabIndex: -1, "aria-label": "A file to begin with" });
  const act = (text, onclick) => h("button", { type: "button", class: "write", onclick }, text);
  const element = h("section", { class: "welcome drop", "aria-label": "Begin", hidden: true },
    h("p", { class: "step" }, "No campaigns yet."),
    h("p", {}, "A campaign is a table that is expensive to measure. maxentry says which entries to measure next, and estimates the others. Drop a CSV or Excel file here, or try the example."),
    h("div", { class: "inline" }, act("Choose a file …", () => file.click()), act("Try the example", tryExample), file));
  listenForFiles(element, (dropped) => new CreateForm(dropped));
  return element;
}

async function tryExample() {
  try {
    const made = await api.write("/campaigns", { ...example("Example: yields"), who: await author() });
    location.hash = `#/c/${encodeURIComponent(made.id)}`;
  } catch (error) {
    toast(error.message, "bad");
  }
}

function card(line, drawn) {
  const all = line.rows * line.cols;
  const picture = drawn ? h("canvas", { class: "thumb", "aria-hidden": "true" }) : null;
  if (picture) draw(picture, line).catch(() => picture.remove());
  return h("li", {}, h("a", { class: "card", href: `#/c/${encodeURIComponent(line.id)}` },
    picture,
    h("strong", { class: "name" }, line.name),
    h("span", { class: "note" }, inShort(line)),
    h("progress", { max: all, value: line.told, "aria-label": "share of the matrix that is measured" }),
    h("span", { class: "note" }, "changed ", h("time", { dateTime: line.changed_at }, ago(line.changed_at)))));
}

/** A thumbnail of the measured entries. */
async function draw(canvas, line) {
  const tile = await api.get(`/campaigns/${encodeURIComponent(line.id)}/map?what=value&cells=${CELLS}`);
  canvas.width = tile.col_starts.length;
  canvas.height = tile.row_starts.length;
  const context = canvas.getContext("2d");
  tile.values.forEach((cells, i) => cells.forEach((x, j) => {
    if (x === null) return;
    context.fillStyle = colour("value", x, tile.least, tile.greatest);
    context.fillRect(j, i, 1, 1);
  }));
}
