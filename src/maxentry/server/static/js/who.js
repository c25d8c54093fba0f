// The name under which things are told, for the history of a campaign. No secret: it is kept in the browser.

import { field, h } from "./dom.js";

const KEY = "maxentry-name";

function kept() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** The name; null lets the server say that it came by HTTP. */
export const name = () => kept().trim() || null;

/** Where it is entered. */
export function nameField() {
  const keep = (event) => {
    try {
      localStorage.setItem(KEY, event.target.value.slice(0, 200));
    } catch {
      // A browser that keeps nothing asks again.
    }
  };
  return field("Your name, for the history", h("input", { type: "text", value: kept(), maxLength: 200, autocomplete: "name", onchange: keep }));
}
