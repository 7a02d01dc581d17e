// A conversation; replies appear as they are written.
import { explainProblem, fillSelect, send } from "./asking.js";

const $ = (id) => document.getElementById(id);
let turns = []; // {role, content}, oldest first
let running = null;

export function startChat(models) {
  fillSelect($("chat-model"), models.map((model) => model.name));
  $("say").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("message").value.trim();
    if (!text || running) return;
    $("message").value = "";
    reply([...turns, { role: "user", content: text }]);
  });
  $("message").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.isComposing) event.preventDefault();
  });
  $("stop").addEventListener("click", () => running?.abort());
  $("retry").addEventListener("click", () => {
    if (!running && turns.length) reply(turns.at(-1).role === "user" ? turns : turns.slice(0, -1));
  });
  $("undo").addEventListener("click", () => {
    change(turns.slice(0, turns.at(-1)?.role === "user" ? -1 : -2));
  });
  $("reset").addEventListener("click", () => change([]));
}

function change(next) {
  running?.abort();
  turns = next;
  $("turns").replaceChildren(...turns.map(bubble));
  $("message").focus();
}

function bubble({ role, content }) {
  const item = document.createElement("li");
  item.className = role === "user" ? "user" : "bot";
  item.dir = "auto";
  item.textContent = content;
  return item;
}

async function reply(said) {
  change(said);
  const item = bubble({ role: "assistant", content: "…" });
  item.ariaBusy = "true"; // a screen reader says it once it is whole
  $("turns").append(item);
  running = new AbortController();
  $("stop").hidden = false;
  let text = "";
  try {
    for await (const chunk of streamed(said, running.signal)) {
      text += chunk;
      item.textContent = text;
      $("turns").scrollTop = $("turns").scrollHeight;
    }
  } catch (error) {
    explainProblem(error);
  }
  running = null;
  item.ariaBusy = "false";
  $("stop").hidden = true;
  if (turns !== said) return; // undone or begun anew meanwhile
  if (text) turns = [...said, { role: "assistant", content: text }];
  else item.remove();
}

async function* streamed(messages, signal) {
  const body = { model: $("chat-model").value, messages, stream: true };
  if ($("temperature").value) body.temperature = Number($("temperature").value);
  if ($("seed").value) body.seed = Number($("seed").value);
  const response = await send("v1/chat/completions", body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    held += value;
    const events = held.split("\n\n");
    held = events.pop();
    for (const event of events) {
      if (event === "data: [DONE]") return;
      yield JSON.parse(event.slice("data: ".length)).choices[0]?.delta.content ?? "";
    }
  }
}
