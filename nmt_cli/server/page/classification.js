// The labels of a text as one types, with a bar for each.
import { ask, explainProblem, fillSelect, onTyping } from "./asking.js";

const PAUSE = 250;
const MOST_BARS = 20;
const $ = (id) => document.getElementById(id);
let running = new AbortController();

export function startClassification(models) {
  fillSelect($("classifier"), models.map((model) => model.name));
  $("classifier").addEventListener("change", classify);
  onTyping($("text"), PAUSE, classify);
}

async function classify() {
  running.abort();
  running = new AbortController();
  const text = $("text").value;
  if (!text.trim()) {
    $("labels").replaceChildren();
    return;
  }
  try {
    const body = { texts: [text], model: $("classifier").value };
    const { results } = await ask("classify", body, running.signal);
    const { labels, probabilities } = results[0];
    const rows = Object.entries(probabilities).slice(0, MOST_BARS);
    $("labels").replaceChildren(...rows.map(([name, share]) => bar(name, share, labels)));
  } catch (error) {
    explainProblem(error);
  }
}

function bar(name, share, labels) {
  const row = document.createElement("div");
  row.className = "label";
  const title = document.createElement(labels.includes(name) ? "b" : "span");
  title.textContent = name;
  const meter = document.createElement("meter");
  meter.value = share;
  meter.setAttribute("aria-label", name);
  const number = document.createElement("span");
  number.textContent = `${(100 * share).toFixed(1)} %`;
  row.append(title, meter, number);
  return row;
}
