"use strict";
// The table of items: search, sort, and one page of rows at a time. Names become text, not markup.
const items = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const ROWS = 25;
const n = items.names.length;
const lowered = items.names.map((name) => name.toLowerCase());
const state = { key: "cluster", down: false, start: 0, shown: [] };
let order = Uint32Array.from({ length: n }, (_, i) => i);
let ranks = null;

// Sorting 100,000 names by locale takes a moment: done once, when first needed.
function nameRanks() {
  if (!ranks) {
    const compare = new Intl.Collator(undefined, { numeric: true }).compare;
    ranks = new Uint32Array(n);
    Uint32Array.from(order).sort((i, j) => compare(items.names[i], items.names[j]) || i - j)
      .forEach((i, place) => { ranks[i] = place; });
  }
  return ranks;
}

// The items come cluster by cluster, the strongest first, and unassigned items last.
const clusterOf = new Int32Array(n).fill(-1);
const start = new Uint32Array(n + 1);
{
  let i = 0;
  items.sizes.forEach((size, l) => { clusterOf.fill(l, i, i + size); i += size; });
  for (i = 0; i < n; i++) start[i + 1] = start[i] + items.counts[i];
}
const many = items.totals.length > 0;
const color = (l) => (l < 0 ? "cx" : `c${l % items.colors}`);
const strengthOf = (i) => (items.counts[i] ? items.percent[start[i]] : -1);
const by = {
  name: () => { const rank = nameRanks(); return (i, j) => rank[i] - rank[j]; },
  cluster: () => (i, j) => (clusterOf[i] === clusterOf[j] ? 0 : i - j),
  strength: () => (i, j) => strengthOf(i) - strengthOf(j),
};

function sort() {
  const compare = by[state.key]();
  const sign = state.down ? -1 : 1;
  order = order.sort((i, j) => sign * compare(i, j) || i - j);
  for (const button of document.querySelectorAll("[data-sort]")) {
    const chosen = button.dataset.sort === state.key;
    const way = state.down ? "descending" : "ascending";
    button.parentNode.setAttribute("aria-sort", chosen ? way : "none");
  }
}

// With very many clusters, the chosen one shows its shared items too, after its own.
function inCluster(i, l) {
  if (clusterOf[i] === l) return true;
  return many && l >= 0 && items.top.slice(start[i], start[i + 1]).includes(l);
}

function describe(l) {
  const note = find("cluster-note");
  note.hidden = !(many && l !== null);
  if (note.hidden) return;
  if (l < 0 || !Number.isInteger(l) || l >= items.totals.length) {
    note.textContent = l === -1 ? "Items of no cluster." : "There is no such cluster.";
    return;
  }
  const size = items.totals[l].toLocaleString("en");
  const words = items.words.length ? `. Top words: ${items.words[l].join(", ")}` : "";
  note.textContent = `Cluster ${l}: ${size} ${size === "1" ? "item" : "items"}${words}`;
}

function filter() {
  const query = find("query").value.trim().toLowerCase();
  const value = find("cluster").value;
  const l = value === "" ? null : Number(value);
  state.shown = order.filter((i) => (l === null || inCluster(i, l)) && lowered[i].includes(query));
  if (many && l !== null) {
    state.shown.sort((i, j) => (clusterOf[j] === l) - (clusterOf[i] === l));
  }
  state.start = 0;
  describe(l);
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
  let rest = 100;
  const add = (className, percent, text) => {
    const part = element("span", className);
    part.style.flexGrow = percent;
    bar.append(part);
    words.append(element("span", "value", text));
  };
  for (let t = start[i]; t < start[i + 1]; t++) {
    add(color(items.top[t]), items.percent[t], `${items.top[t]}: ${items.percent[t]} %`);
    rest -= items.percent[t];
  }
  if (items.others[i]) add("cx", Math.max(rest, 0), `and ${items.others[i]} more`);
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
  const l = clusterOf[i];
  const cluster = element("td");
  cluster.append(element("span", `chip ${color(l)}`, l < 0 ? "none" : l));
  const strength = element("td", "num", l < 0 ? "" : `${strengthOf(i)} %`);
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
    // Names and clusters start ascending, strengths descending.
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
find("cluster").addEventListener(many ? "input" : "change", filter);
find("query").form.addEventListener("submit", (event) => event.preventDefault());
find("back").addEventListener("click", () => turn(-1));
find("forth").addEventListener("click", () => turn(1));
sort();
filter();

// The graph: one tab stop, arrow keys from item to item, the name below.
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
