// Elements from data. Whatever comes from users goes in as text: nothing here, or anywhere, parses HTML.

/** An element: properties (on… are listeners, data-… and aria-… attributes), then children; null leaves one out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && !name.includes("-") && name !== "list" && name !== "form") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  put(element, ...children);
  return element;
}

/** Fill an element with these children instead of what it has. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Data that the server put into the page, by the name of its meta element. */
export const embedded = (name) => JSON.parse(document.querySelector(`meta[name=${name}]`).content);

/** A label and its control, one above the other; a hint below. */
export function field(label, control, hint = null) {
  control.id ||= `f${(field.count = (field.count ?? 0) + 1)}`;
  const note = hint === null ? null : h("small", { id: `${control.id}-hint`, class: "note" }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { htmlFor: control.id }, label), control, note);
}

/** A select element for a setting: its values, each with its description. */
export function choose(setting, value = null) {
  const select = h("select", {}, embedded("choices")[setting].map(([name, said]) => h("option", { value: name }, said)));
  if (value !== null) select.value = value;
  return select;
}

/** A box for a file, given to `take`. It forgets the file when it is opened: the same file, mended, may be chosen again. */
export function fileBox(take, properties = {}) {
  const box = h("input", { type: "file", accept: ".csv,.tsv,.txt,.xlsx,.parquet,text/csv", onclick: () => (box.value = ""), onchange: () => box.files[0] && take(box.files[0]), ...properties });
  return box;
}

/** A modal dialog with a title, which is taken out of the page when it is closed. */
export function dialog(title, ...children) {
  const heading = h("h2", { id: "dialog-title", tabIndex: -1 }, title);
  const close = h("button", { type: "button", class: "quiet close", "aria-label": "Close", onclick: () => box.close() }, "✕");
  const box = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => box.remove() }, heading, close, ...children);
  document.body.append(box);
  box.showModal();
  return box;
}

/** The button of a dialog's form that changes nothing. */
export const cancel = () => h("button", { type: "button", class: "cancel", onclick: (event) => event.target.closest("dialog").close() }, "Cancel");

/** A word that goes away by itself, or is removed before. */
export function toast(text, kind = "good") {
  const note = h("p", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), kind === "good" ? 5000 : 12000);
  return note;
}

/** Whether keys belong to a control rather than to the page. */
export function isTyping(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}
