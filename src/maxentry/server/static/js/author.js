// Who acts, for the history of campaigns: asked once, before the first change, and stored in the browser.

import { cancel, dialog, field, h, put } from "./dom.js";

const KEY = "maxentry-name";
let here = null; // where there is no local storage

function stored() {
  try {
    return localStorage.getItem(KEY) ?? here;
  } catch {
    return here;
  }
}

function store(text) {
  here = text.trim().slice(0, 200);
  try {
    localStorage.setItem(KEY, here);
  } catch {
    // Without local storage, the name is asked for again in the next tab.
  }
  showAuthor();
}

/** The name, asked for if it was never given; null if somebody prefers none. Throws if the dialog is cancelled. */
export async function author() {
  if (stored() === null && !(await askForName())) throw new Error("Cancelled. Nothing was changed.");
  return stored() || null;
}

/** Ask for the name; whether there was an answer. */
function askForName() {
  return new Promise((done) => {
    let answered = false;
    const input = h("input", { type: "text", value: stored() ?? "", maxLength: 200, autocomplete: "name" });
    const answer = (text) => {
      answered = true;
      store(text);
      box.close();
    };
    const form = h("form", { onsubmit: (event) => (event.preventDefault(), answer(input.value)) },
      field("Your name", input, "For the history of the campaign. It is asked once and kept in this browser; change it at the top of the page."),
      h("div", { class: "actions" }, cancel(), h("button", { type: "button", onclick: () => answer("") }, "Without a name"), h("button", { class: "primary" }, "Continue")));
    const box = dialog("Who are you?", form);
    box.addEventListener("close", () => done(answered));
    input.focus();
  });
}

/** Show the name at the top of the page, where it can be changed. */
export function showAuthor() {
  const button = document.getElementById("who");
  if (!button) return;
  const name = stored();
  button.hidden = name === null;
  put(button, name || "no name");
  button.setAttribute("aria-label", `Your name: ${name || "none"}. Change it.`);
  button.onclick = askForName;
}
