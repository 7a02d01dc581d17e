// Translation as one types: the last request is taken back when the text changes.
import { ask, explainProblem, fillSelect, onTyping } from "./asking.js";

const PAUSE = 250; // ms without a key before a request
const ALTERNATIVES = 3;
const UNSURE = 0.5; // probability of a word below which it is marked
const LONGEST_FILE = 100_000;

const $ = (id) => document.getElementById(id);
const languages = new Intl.DisplayNames(["en"], { type: "language" });
let models;
let running = new AbortController();

export function startTranslation(served) {
  models = served;
  const sources = [...new Set(models.map((model) => model.source)), "auto"];
  fillSelect($("source-language"), sources, undefined, languageName);
  chooseTargets();
  $("source-language").addEventListener("change", () => { chooseTargets(); translate(); });
  $("target-language").addEventListener("change", translate);
  $("swap").addEventListener("click", swap);
  $("copy").addEventListener("click", copy);
  $("file").addEventListener("change", () => read($("file").files[0]));
  onTyping($("source"), PAUSE, translate);
  const section = $("translation");
  section.addEventListener("dragover", (event) => event.preventDefault());
  section.addEventListener("drop", (event) => {
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
}

function chooseTargets(chosen = $("target-language").value) {
  const source = $("source-language").value;
  const fitting = models.filter((model) => source === "auto" || model.source === source);
  const targets = [...new Set(fitting.map((model) => model.target))];
  fillSelect($("target-language"), targets, chosen, languageName);
  $("swap").disabled = !canSwap();
}

/** A code that is no language's is shown as it is. */
function languageName(code) {
  try {
    return code === "auto" ? "any language" : languages.of(code);
  } catch {
    return code;
  }
}

function canSwap() {
  const [source, target] = [$("source-language").value, $("target-language").value];
  return models.some((model) => model.source === target && model.target === source);
}

function swap() {
  const [source, target] = [$("source-language").value, $("target-language").value];
  $("source-language").value = target;
  chooseTargets(source);
  $("source").value = $("target").textContent;
  translate();
}

async function translate() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const text = $("source").value;
  $("swap").disabled = !canSwap();
  if (!text.trim()) {
    $("target").replaceChildren();
    $("alternatives").replaceChildren();
    return;
  }
  $("target").classList.add("stale");
  const pair = { source: $("source-language").value, target: $("target-language").value };
  try {
    const body = { q: text, ...pair, alternatives: ALTERNATIVES };
    const found = await ask("translate", body, signal);
    $("target").textContent = found.translatedText;
    $("target").classList.remove("stale");
    showAlternatives(found.alternatives);
    const source = found.detectedLanguage?.language ?? pair.source;
    await explain(text, found.translatedText, { ...pair, source }, signal);
  } catch (error) {
    explainProblem(error);
  }
}

function showAlternatives(texts) {
  $("alternatives").replaceChildren(
    ...texts.map((text) => {
      const line = document.createElement("div");
      line.dir = "auto";
      line.textContent = text;
      return line;
    }),
  );
}

/** Make words of each line that can be pointed at. */
async function explain(text, translation, pair, signal) {
  const sources = text.split("\n");
  const targets = translation.split("\n");
  if (sources.length !== targets.length) return;
  const parts = [];
  for (const [number, line] of targets.entries()) {
    if (number) parts.push("\n");
    const pairOfLines = { q: sources[number], translation: line, ...pair };
    const found = line.trim() && number < 20 ? await ask("explain", pairOfLines, signal) : null;
    parts.push(...(found ? wordsOf(line, found) : [line]));
  }
  $("target").replaceChildren(...parts);
}

function wordsOf(line, found) {
  const parts = [];
  let rest = line;
  for (const word of found.words) {
    const at = rest.indexOf(word.text);
    if (at < 0) return [line];
    const span = document.createElement("span");
    span.className = word.probability < UNSURE ? "word unsure" : "word";
    span.tabIndex = 0;
    span.textContent = word.text;
    span.addEventListener("focus", () => tell(word));
    span.addEventListener("pointerenter", () => tell(word));
    parts.push(rest.slice(0, at), span);
    rest = rest.slice(at + word.text.length);
  }
  return [...parts, rest];
}

/** Say how sure a word is, and what the model looked at when it wrote it. */
function tell(word) {
  const sure = `${word.text}: ${Math.round(100 * word.probability)} % sure`;
  $("from").textContent = word.from ? `${sure}, from “${word.from}”` : sure;
}

async function copy() {
  await navigator.clipboard.writeText($("target").textContent).catch(explainProblem);
  $("copy").textContent = "Copied";
  setTimeout(() => { $("copy").textContent = "Copy"; }, 1500);
}

async function read(file) {
  if (!file) return;
  if (file.size > LONGEST_FILE) {
    explainProblem(new Error(`${file.name} is too large for the page: nmt translate -i takes it`));
    return;
  }
  $("source").value = await file.text();
  translate();
}
