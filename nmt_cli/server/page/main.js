// Which models there are, and the part of the page for each thing that they do.
import { ask, explainProblem } from "./asking.js";
import { startChat } from "./chat.js";
import { startClassification } from "./classification.js";
import { startTranslation } from "./translation.js";

const PARTS = {
  translation: ["Translate", startTranslation],
  chat: ["Chat", startChat],
  classification: ["Classify", startClassification],
};

function show(task) {
  for (const button of document.querySelectorAll("nav button")) {
    button.setAttribute("aria-current", String(button.dataset.task === task));
  }
  for (const section of document.querySelectorAll("main section")) {
    section.hidden = section.id !== task;
  }
  history.replaceState(null, "", `#${task}`);
}

async function start() {
  const { models } = await ask("models");
  const tasks = Object.keys(PARTS).filter((task) => models.some((model) => model.task === task));
  for (const task of tasks) {
    const [title, startPart] = PARTS[task];
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title;
    button.dataset.task = task;
    button.addEventListener("click", () => show(task));
    document.querySelector("nav").append(button);
    startPart(models.filter((model) => model.task === task));
  }
  document.querySelector("nav").hidden = tasks.length < 2;
  const wanted = location.hash.slice(1);
  show(tasks.includes(wanted) ? wanted : tasks[0]);
}

start().catch(explainProblem);
