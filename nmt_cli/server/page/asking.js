// Requests to the server, with the key if it wants one.
const status = document.querySelector("#status");
let key = sessionStorage.getItem("key") ?? "";

function headers() {
  const found = { "Content-Type": "application/json" };
  if (key) found.Authorization = `Bearer ${key}`;
  return found;
}

/** Send a request; with a body it is a POST. The answer may be read as a stream. */
export async function send(path, body, signal) {
  const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(path, { ...request, headers: headers(), signal });
  if (response.ok) {
    status.textContent = "";
    return response;
  }
  if ([401, 403].includes(response.status) && askForKey()) return send(path, body, signal);
  throw new Error(await problem(response));
}

export async function ask(path, body, signal) {
  return (await send(path, body, signal)).json();
}

function askForKey() {
  const given = prompt("This server asks for a key:", key);
  if (!given || given === key) return false;
  key = given;
  sessionStorage.setItem("key", key);
  return true;
}

async function problem(response) {
  const { error } = await response.json().catch(() => ({}));
  return error?.message ?? error ?? `the server answered ${response.status}`;
}

/** Show what went wrong; a request that was taken back is nothing wrong. */
export function explainProblem(error) {
  if (error.name === "AbortError") return;
  const lost = error instanceof TypeError;
  status.textContent = lost ? "The server cannot be reached." : error.message;
}

export function fillSelect(select, values, chosen, nameOf = (value) => value) {
  select.replaceChildren(...values.map((value) => new Option(nameOf(value), value)));
  if (values.includes(chosen)) select.value = chosen;
}

/** Call a function once typing pauses; not while an input method composes a character. */
export function onTyping(field, pause, act) {
  let timer;
  const later = (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(act, pause);
  };
  field.addEventListener("input", later);
  field.addEventListener("compositionend", () => later({ isComposing: false }));
}
