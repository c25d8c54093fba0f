// The page: which part of it is shown, light or dark, help.

import * as api from "./api.js";
import { CampaignPage } from "./campaign.js";
import { showAuthor } from "./author.js";
import { dialog, h, isTyping, put } from "./dom.js";
import { ListPage } from "./list.js";

const main = document.getElementById("main");
let page = null;

/** Show the page of the current address. */
async function route() {
  page?.close();
  const [, id] = location.hash.match(/^#\/c\/(.+)$/) ?? [];
  const shown = id ? new CampaignPage(main, decodeURIComponent(id)) : new ListPage(main);
  page = shown;
  put(main, h("p", { class: "note" }, "Loading …"));
  try {
    await shown.open();
    if (moved) main.querySelector("h1")?.focus({ preventScroll: true });
  } catch (error) {
    if (page !== shown) return;
    const again = h("button", { type: "button", onclick: route }, "Try again");
    put(main, h("p", { class: "problem", role: "alert" }, error.message), h("div", { class: "actions" }, h("a", { href: "#/" }, "All campaigns"), again));
  }
}

let moved = false;
addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  moved = true;
  scrollTo(0, 0);
  route();
});

// Light and dark

const THEMES = ["system", "dark", "light"];
const toggle = document.getElementById("theme");

function theme(wish) {
  if (wish === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wish;
  try {
    localStorage.setItem("maxentry-theme", wish);
  } catch {
    // Without local storage, it holds until the page is left.
  }
  toggle.textContent = `Theme: ${wish}`;
  document.dispatchEvent(new Event("themechange"));
}

const now = () => document.documentElement.dataset.theme ?? "system";
const turn = () => theme(THEMES[(THEMES.indexOf(now()) + 1) % THEMES.length]);
toggle.addEventListener("click", turn);
toggle.textContent = `Theme: ${now()}`;

// Help

const KEYS = [
  ["?", "this help"], ["d", "light, dark, as the system"], ["g", "all campaigns"], ["m", "to the map"], ["a", "to asking"], ["v", "to the first value"],
  ["1 2 3", "estimate, uncertainty, measured with the next batch"], ["Enter", "in a box: to the next one"], ["arrow keys", "on the map: move (with Shift by ten)"], ["+ − 0", "zoom in, out, show all"],
  ["Page up, Page down", "on the map: scroll"], ["Enter", "on the map: pick the entry"], ["Escape", "on the map: let it go"],
];

function help() {
  dialog("Help",
    h("p", {}, "Ask for entries, measure them, enter the values: the map, the uncertainty and the next batch follow. Dots were measured, rings are pending, dashed rings would be next, crosses failed."),
    h("p", {}, "Drag moves the map when it is zoomed; a double click or a pinch zooms; the wheel too, once the map has the focus (or with Ctrl)."),
    h("dl", { class: "keys" }, KEYS.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("p", { class: "note" }, "Programs use ", h("a", { href: "/api/v1/openapi.json" }, "/api/v1"), "."));
}

document.getElementById("help").addEventListener("click", help);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const acts = { "?": help, d: turn, g: () => (location.hash = "#/") };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
});

/** Hide controls from readers whose requests would be refused. */
async function access() {
  const { may } = await api.get("/access");
  document.documentElement.dataset.may = may;
  document.getElementById("access").hidden = may === "write";
}

showAuthor();
await access().catch(() => {});
await route();
