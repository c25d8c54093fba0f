// The user's name for the history of a campaign, stored in the browser.

import { field, h } from "./dom.js";

const KEY = "maxentry-name";

function stored() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** The name; with null the server records that the request came by HTTP. */
export const name = () => stored().trim() || null;

/** The input for the name. */
export function nameField() {
  const keep = (event) => {
    try {
      localStorage.setItem(KEY, event.target.value.slice(0, 200));
    } catch {
      // Without local storage, the name is asked for again.
    }
  };
  return field("Your name, for the history", h("input", { type: "text", value: stored(), maxLength: 200, autocomplete: "name", onchange: keep }));
}
