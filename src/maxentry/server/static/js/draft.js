// Values that were typed and not saved yet, kept in the browser so that they survive a reload.

/** The texts typed into a campaign's boxes, by id. */
export class Draft {
  constructor(path) {
    this.key = `maxentry-typed-${path}`;
  }

  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "{}");
    } catch {
      return {};
    }
  }

  get(id) {
    return String(this.read()[id] ?? "");
  }

  /** Store what a box holds; an empty text is removed. Other tabs may have stored theirs meanwhile. */
  set(id, text) {
    this.change((typed) => (text.trim() === "" ? delete typed[id] : (typed[id] = text)));
  }

  /** Forget the entries that are not pending any more. */
  keep(ids) {
    this.change((typed) => Object.keys(typed).filter((id) => !ids.has(Number(id))).forEach((id) => delete typed[id]));
  }

  change(act) {
    const typed = this.read();
    const before = JSON.stringify(typed);
    act(typed);
    const after = JSON.stringify(typed);
    if (after === before) return;
    try {
      if (after === "{}") localStorage.removeItem(this.key);
      else localStorage.setItem(this.key, after);
    } catch {
      // Without local storage, what is typed lasts as long as the page.
    }
  }
}
