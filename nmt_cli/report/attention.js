"use strict";
// Shows one head of one layer as a table and all of them as small pictures. What is chosen is in
// `state`; every change goes through `show`.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const STRONG = 0.66; // weight from which the text on a cell is that for strong colours
const WRITTEN = 0.005; // smaller weights are written as nothing
const UPRIGHT = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/; // scripts that stand when written downwards
const MEAN = 0; // the head that is the mean of all; the others count from 1

for (const kind of data.kinds) {
  for (const level of kind.levels) {
    const bytes = Uint8Array.from(atob(level.weights), (character) => character.charCodeAt(0));
    level.weights = new Float32Array(bytes.buffer); // [layers, heads, rows, columns]
  }
}

const state = {
  kind: data.chosen.kind,
  level: data.chosen.level,
  layer: data.chosen.layer ?? data.kinds[data.chosen.kind].layers,
  head: data.chosen.head ?? MEAN,
  row: 0,
  column: 0,
};

const kindNow = () => data.kinds[state.kind];
const levelNow = () => kindNow().levels[state.level];

function weight(layer, head, row, column) {
  const { heads } = kindNow();
  const { rows, columns, weights } = levelNow();
  const at = (h) => weights[(((layer - 1) * heads + h - 1) * rows.length + row) * columns.length + column];
  if (head !== MEAN) return at(head);
  let sum = 0;
  for (let h = 1; h <= heads; h += 1) sum += at(h);
  return sum / heads;
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function clamp() {
  const { layers, heads } = kindNow();
  const { rows, columns } = levelNow();
  state.layer = Math.min(state.layer, layers);
  state.head = Math.min(state.head, heads);
  state.row = Math.max(0, Math.min(state.row, rows.length - 1));
  state.column = Math.max(0, Math.min(state.column, columns.length - 1));
}

function options(select, texts, first, chosen) {
  select.replaceChildren(...texts.map((text, i) => element("option", text, { value: i + first })));
  select.value = chosen;
}

function showControls() {
  const { layers, heads } = kindNow();
  const numbers = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
  options(byId("kind"), data.kinds.map((kind) => kind.name), 0, state.kind);
  options(byId("layer"), numbers(layers), 1, state.layer);
  options(byId("head"), [`mean of ${heads}`, ...numbers(heads)], 0, state.head);
  byId("level").value = state.level;
  byId("meaning").textContent = kindNow().meaning;
  byId("chosen").textContent = `${kindNow().name}, layer ${state.layer}, ${headName(state.head)}`;
}

const headName = (head) => (head === MEAN ? "mean of the heads" : `head ${head}`);

function thumbnail(layer, head) {
  const { rows, columns } = levelNow();
  const canvas = element("canvas", null, { width: columns.length, height: rows.length });
  const context = canvas.getContext("2d");
  for (let row = 0; row < rows.length; row += 1) {
    for (let column = 0; column < columns.length; column += 1) {
      context.fillStyle = `rgba(47, 127, 208, ${weight(layer, head, row, column)})`;
      context.fillRect(column, row, 1, 1);
    }
  }
  const name = `layer ${layer}, ${headName(head)}`;
  const button = element("button", null, { type: "button", "aria-label": name, title: name });
  button.dataset.layer = layer;
  button.dataset.head = head;
  button.append(canvas);
  return button;
}

function showOverview() {
  const { layers, heads } = kindNow();
  const overview = byId("overview");
  overview.style.gridTemplateColumns = `auto repeat(${heads}, minmax(2.5rem, 6rem))`;
  const cells = [element("span", "")];
  for (let head = 1; head <= heads; head += 1) cells.push(element("span", `head ${head}`));
  for (let layer = 1; layer <= layers; layer += 1) {
    cells.push(element("span", `layer ${layer}`));
    for (let head = 1; head <= heads; head += 1) cells.push(thumbnail(layer, head));
  }
  overview.replaceChildren(...cells);
}

function markOverview() {
  for (const button of byId("overview").querySelectorAll("button")) {
    const isHead = state.head === MEAN || Number(button.dataset.head) === state.head;
    button.setAttribute("aria-pressed", String(isHead && Number(button.dataset.layer) === state.layer));
  }
}

function showGrid() {
  const { rows, columns } = levelNow();
  const head = element("tr", null);
  head.append(element("th", ""));
  for (const column of columns) {
    const cell = element("th", null, { scope: "col" });
    cell.append(element("span", column, { class: UPRIGHT.test(column) ? "upright" : "" }));
    head.append(cell);
  }
  const body = element("tbody", null);
  rows.forEach((text, row) => {
    const line = element("tr", null);
    line.append(element("th", text, { scope: "row" }));
    columns.forEach((column, index) => {
      const p = weight(state.layer, state.head, row, index);
      const cell = element("td", p >= WRITTEN ? String(Math.round(p * 100)) : "", {
        role: "gridcell", tabindex: "-1", style: `--p: ${p.toFixed(4)}`,
        "aria-label": `${text}, ${column}: ${(p * 100).toFixed(1)} percent`,
      });
      if (p >= STRONG) cell.className = "strong";
      line.append(cell);
    });
    body.append(line);
  });
  const heading = element("thead", null);
  heading.append(head);
  byId("grid").replaceChildren(heading, body);
}

function cellAt(row, column) {
  return byId("grid").tBodies[0].rows[row].cells[column + 1];
}

function mark() {
  const { rows, columns } = levelNow();
  for (const old of byId("grid").querySelectorAll(".here")) old.classList.remove("here");
  for (const old of byId("grid").querySelectorAll('[tabindex="0"]')) old.tabIndex = -1;
  const cell = cellAt(state.row, state.column);
  cell.tabIndex = 0;
  cell.parentElement.cells[0].classList.add("here");
  byId("grid").tHead.rows[0].cells[state.column + 1].classList.add("here");
  const percent = (100 * weight(state.layer, state.head, state.row, state.column)).toFixed(1);
  byId("readout").textContent = `${rows[state.row]} → ${columns[state.column]}: ${percent} %`;
}

function show({ all = false } = {}) {
  clamp();
  const hadFocus = byId("grid").contains(document.activeElement);
  showControls();
  if (all) showOverview();
  markOverview();
  showGrid();
  mark();
  if (hadFocus) cellAt(state.row, state.column).focus();
}

for (const name of ["kind", "level", "layer", "head"]) {
  byId(name).addEventListener("change", (event) => {
    state[name] = Number(event.target.value);
    show({ all: name === "kind" || name === "level" });
  });
}

byId("overview").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  state.layer = Number(button.dataset.layer);
  state.head = Number(button.dataset.head);
  show();
});

for (const happening of ["mouseover", "focusin"]) {
  byId("grid").addEventListener(happening, (event) => {
    const cell = event.target.closest('td[role="gridcell"]');
    if (!cell) return;
    state.row = cell.parentElement.sectionRowIndex;
    state.column = cell.cellIndex - 1;
    mark();
  });
}

const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
                Home: [0, -Infinity], End: [0, Infinity] };

byId("grid").addEventListener("keydown", (event) => {
  const move = moves[event.key];
  if (!move) return;
  event.preventDefault();
  state.row += move[0];
  state.column += move[1];
  clamp();
  cellAt(state.row, state.column).focus();
});

const around = (value, count, step) => (value + step + count) % count;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  const step = event.shiftKey ? -1 : 1;
  const { layers, heads } = kindNow();
  switch (event.key.toLowerCase()) {
    case "l": state.layer = around(state.layer - 1, layers, step) + 1; return show();
    case "h": state.head = around(state.head, heads + 1, step); return show();
    case "a": state.kind = around(state.kind, data.kinds.length, step); return show({ all: true });
    case "w": state.level = 1 - state.level; return show({ all: true });
    default: return undefined;
  }
});

for (const choice of document.querySelectorAll(".kinds")) choice.hidden = data.kinds.length === 1;
show({ all: true });
