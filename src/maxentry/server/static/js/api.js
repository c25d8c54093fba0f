// The server: JSON requests with the token where one is needed, problems as errors, streams of events, jobs.

import { dialog, field, h } from "./dom.js";

const BASE = "/api/v1";
const TOKEN = "maxentry-token";

/** A refusal of the server: its status, its kind, its code, and its sentence as the message; of values also their line, what is wrong, and that with its place but without advice. */
export class Problem extends Error {
  constructor(status, kind, detail, { code = null, line = null, said = null, reason = null } = {}) {
    super(detail);
    Object.assign(this, { status, kind, code, line, said, reason });
  }
}

const fromDocument = (status, document) => new Problem(status, String(document.type ?? "").split(":").pop(), String(document.detail ?? "Refused."), document);

function headers(more = {}) {
  const token = sessionStorage.getItem(TOKEN); // of this tab alone, gone when it is closed
  return { Accept: "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...more };
}

/** One request; a token is asked for where the server wants one (or another). */
async function send(path, options = {}) {
  for (;;) {
    let answer;
    try {
      answer = await fetch(BASE + path, { ...options, headers: headers(options.headers) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "away", "The server does not answer. Is it still running?");
    }
    if (answer.status !== 401) return answer;
    await askForToken((await problem(answer)).message);
  }
}

async function problem(answer) {
  try {
    return fromDocument(answer.status, await answer.json());
  } catch {
    return new Problem(answer.status, "", `The server answered ${answer.status}.`);
  }
}

async function checked(answer) {
  if (!answer.ok) throw await problem(answer);
  return answer;
}

/** The JSON at an address. */
export async function get(path, { signal } = {}) {
  return (await checked(await send(path, { signal }))).json();
}

/** The content of a file, however long it takes to make; a page is the result of its job, which repeating would start again. */
export async function file(path) {
  for (;;) {
    const answer = await checked(await send(path));
    if (answer.status !== 202) return answer.arrayBuffer();
    const { result } = await over((await answer.json()).id);
    if (result?.page !== undefined) return result.page;
  }
}

async function post(path, body, { key, method = "POST", type = "application/json" } = {}) {
  const more = { "Content-Type": type, ...(key ? { "Idempotency-Key": key } : {}) };
  const content = type === "application/json" ? JSON.stringify(body) : body;
  return checked(await send(path, { method, body: content, headers: more }));
}

/** Send a body; return the response as JSON. */
export async function write(path, body, options) {
  return (await post(path, body, options)).json();
}

/** Delete what is at an address. */
export async function remove(path) {
  return (await checked(await send(path, { method: "DELETE" }))).json();
}

/** An idempotency key, so that a repeated request is carried out once. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Start a long request and wait for its job; then the same request returns the result. */
export async function patiently(request) {
  for (;;) {
    const answer = await request();
    if (answer.status !== 202) return answer.json();
    await over((await answer.json()).id);
  }
}

/** Ask for n entries; the key makes sure that they are handed out once. */
export function ask(path, body) {
  const key = newKey();
  return patiently(() => post(`${path}/ask?wait=2`, body, { key }));
}

/** Start work without waiting for it; null if the server is busy. */
export async function begin(path) {
  const answer = await send(path);
  if (answer.status === 429) return null;
  return (await checked(answer)).json();
}

/** Wait until a job is over; its problem is thrown if it failed. */
async function over(id) {
  for (;;) {
    const job = await get(`/jobs/${encodeURIComponent(id)}`);
    if (job.problem) throw fromDocument(job.problem.status, job.problem);
    if (job.status === "done") return job;
    await new Promise((done) => setTimeout(done, 400));
  }
}

/** A long GET: its response, or the result of its job (repeating the request would start another job). */
export async function made(path) {
  const answer = await checked(await send(path));
  const found = await answer.json();
  return answer.status === 202 ? (await over(found.id)).result : found;
}

/**
 * Follow a stream of events while the page is in sight, coming back whenever it ends. Each tab in sight holds one
 * connection, hidden ones none: a browser has only six for a server. (EventSource could not send a token.)
 */
export function follow(path, heard, lost) {
  let stop = new AbortController();
  let ended = false;
  let pause = 500;
  let turn = 0; // of listening: an earlier one that is still pausing gives way

  async function listen() {
    const mine = (turn += 1);
    while (!ended && !document.hidden && mine === turn) {
      stop = new AbortController();
      try {
        const answer = await checked(await send(path, { signal: stop.signal, headers: { Accept: "text/event-stream" } }));
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          pause = 500;
          const events = (rest + value).split("\n\n");
          rest = events.pop();
          for (const event of events) hear(event);
        }
      } catch (error) {
        if (error.name === "AbortError") return;
        if (error instanceof Problem && error.status === 404) return lost(error);
        lost(error);
      }
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(2 * pause, 10000);
    }
  }

  function hear(event) {
    const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
    if (data) heard(JSON.parse(data));
  }

  function seen() {
    if (document.hidden) stop.abort();
    else listen();
  }

  document.addEventListener("visibilitychange", seen);
  listen();
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", seen);
    stop.abort();
  };
}

let asking = null;

/** Ask for the token once, however many requests want it. It is kept for this tab alone. */
function askForToken(reason) {
  asking ??= new Promise((done) => {
    const input = h("input", { type: "password", name: "token", required: true, autocomplete: "off", spellcheck: false });
    const form = h(
      "form",
      { method: "dialog" },
      h("p", { class: "problem", role: "alert" }, sessionStorage.getItem(TOKEN) ? reason : "This server asks for a token."),
      field("Token", input, "For reading or for writing. It is kept until this tab is closed, and nowhere else."),
      h("div", { class: "actions" }, h("button", { class: "primary" }, "Continue")),
    );
    const box = dialog("Sign in", form);
    box.addEventListener("cancel", (event) => event.preventDefault());
    form.addEventListener("submit", () => sessionStorage.setItem(TOKEN, input.value.trim()));
    box.addEventListener("close", () => {
      asking = null;
      done();
    });
    input.focus();
  });
  return asking;
}
