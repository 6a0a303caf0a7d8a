"use strict";
// The table of items: search, sort, and one slice of rows at a time, so that 100,000 items are as
// quick as 10. Names only ever become text, never markup.
const items = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const ROWS = 25;
const n = items.names.length;
const lowered = items.names.map((name) => name.toLowerCase());
const state = { key: "cluster", down: false, start: 0, shown: [] };
let order = Uint32Array.from({ length: n }, (_, i) => i);
let ranks = null;

// Sorting 100,000 names by the rules of language takes a moment: done once, when first asked for.
function nameRanks() {
  if (!ranks) {
    const compare = new Intl.Collator(undefined, { numeric: true }).compare;
    ranks = new Uint32Array(n);
    Uint32Array.from(order).sort((i, j) => compare(items.names[i], items.names[j]) || i - j)
      .forEach((i, place) => { ranks[i] = place; });
  }
  return ranks;
}

// The unassigned are always last.
const place = (i) => (items.cluster[i] < 0 ? Infinity : items.cluster[i]);
const inCluster = (i, j) => items.values[j * items.k] - items.values[i * items.k] || i - j;
const by = {
  name: () => { const rank = nameRanks(); return (i, j) => rank[i] - rank[j]; },
  cluster: () => (i, j) => (place(i) === place(j) ? 0 : place(i) - place(j)),
  strength: () => (i, j) => items.strength[i] - items.strength[j],
};

function sort() {
  const compare = by[state.key]();
  const sign = state.down ? -1 : 1;
  order = order.sort((i, j) => sign * compare(i, j) || inCluster(i, j));
  for (const button of document.querySelectorAll("[data-sort]")) {
    const chosen = button.dataset.sort === state.key;
    const way = state.down ? "descending" : "ascending";
    button.parentNode.setAttribute("aria-sort", chosen ? way : "none");
  }
}

function filter() {
  const query = find("query").value.trim().toLowerCase();
  const cluster = find("cluster").value;
  const wanted = (i) =>
    (cluster === "" || items.cluster[i] === Number(cluster)) && lowered[i].includes(query);
  state.shown = order.filter(wanted);
  state.start = 0;
  render();
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function memberships(i) {
  const cell = element("td", "parts");
  const bar = element("span", "stack");
  const words = element("span", "words");
  for (let t = i * items.k; t < (i + 1) * items.k && items.values[t] > 0; t++) {
    const part = element("span", `c${items.top[t]}`);
    part.style.flexGrow = items.values[t] / items.values[i * items.k];
    bar.append(part);
    words.append(element("span", "value", `${items.top[t]}: ${items.values[t]}`));
  }
  if (items.others[i]) {
    const rest = element("span", "cx");
    rest.style.flexGrow = items.rest[i] / items.values[i * items.k];
    bar.append(rest);
    words.append(element("span", "value", `and ${items.others[i]} more`));
  }
  bar.setAttribute("aria-hidden", "true");
  if (words.hasChildNodes()) cell.append(bar, words);
  else cell.append(element("span", "muted", "none"));
  return cell;
}

function row(i) {
  const line = element("tr");
  const name = element("th");
  name.scope = "row";
  name.append(element("bdi", "", items.names[i]));
  name.title = items.names[i];  // long ones are cut
  const cluster = element("td");
  const nobody = items.cluster[i] < 0;
  cluster.append(nobody
    ? element("span", "chip cx", "none")
    : element("span", `chip c${items.cluster[i]}`, items.cluster[i]));
  const strength = element("td", "num", nobody ? "" : items.strength[i].toFixed(2));
  line.append(name, cluster, strength, memberships(i));
  return line;
}

function render() {
  const end = Math.min(state.start + ROWS, state.shown.length);
  find("items").tBodies[0].replaceChildren(...Array.from(state.shown.slice(state.start, end), row));
  const total = state.shown.length.toLocaleString("en");
  const first = (state.start + 1).toLocaleString("en");
  find("status").textContent = end
    ? `${first} to ${end.toLocaleString("en")} of ${total}`
    : "No item matches.";
  find("back").disabled = state.start === 0;
  find("forth").disabled = end === state.shown.length;
}

function turn(step) {
  state.start += step * ROWS;
  render();
}

for (const button of document.querySelectorAll("[data-sort]")) {
  button.addEventListener("click", () => {
    const key = button.dataset.sort;
    // Names and clusters begin with the first, strengths with the strongest.
    state.down = state.key === key ? !state.down : key === "strength";
    state.key = key;
    sort();
    filter();
  });
}
for (const button of document.querySelectorAll(".pick")) {
  button.addEventListener("click", () => {
    find("cluster").value = button.dataset.cluster;
    filter();
    find("h-items").scrollIntoView();
    find("cluster").focus({ preventScroll: true });
  });
}
find("query").addEventListener("input", filter);
find("cluster").addEventListener("change", filter);
find("query").form.addEventListener("submit", (event) => event.preventDefault());
find("back").addEventListener("click", () => turn(-1));
find("forth").addEventListener("click", () => turn(1));
sort();
filter();

// The graph: one stop for the tab key, arrows from item to item, the name in a line below.
const graph = find("graph");
if (graph) {
  const nodes = [...graph.querySelectorAll(".node")];
  const tell = (node) => { find("graph-note").textContent = node.querySelector("title").textContent; };
  nodes[0].setAttribute("tabindex", "0");
  for (const node of nodes) {
    node.addEventListener("pointerenter", () => tell(node));
    node.addEventListener("focus", () => tell(node));
  }
  graph.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const from = nodes.indexOf(document.activeElement);
    if (!step || from < 0) return;
    event.preventDefault();
    const next = nodes[(from + step + nodes.length) % nodes.length];
    nodes[from].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
