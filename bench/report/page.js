"use strict";

/* Light or dark: as the system has it until the button is pressed. */
const root = document.documentElement;
const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const dark = getComputedStyle(root).colorScheme === "dark" ||
    (!root.style.colorScheme && matchMedia("(prefers-color-scheme: dark)").matches);
  root.style.colorScheme = dark ? "light" : "dark";
});

/* What a mark says, beside it, inside the window. */
const tip = document.getElementById("tip");
let shown = null;

function show(mark) {
  if (shown === mark) return;
  if (shown) shown.classList.remove("shown");
  shown = mark;
  tip.hidden = !mark;
  if (!mark) return;
  mark.classList.add("shown");
  const [name, ...lines] = mark.getAttribute("aria-label").split("\n");
  const bold = document.createElement("b");
  bold.textContent = name;
  tip.replaceChildren(bold, ...lines.flatMap((line) => [document.createElement("br"), line]));
  place();
}

function place() {
  if (!shown) return;
  const box = shown.getBoundingClientRect(), size = tip.getBoundingClientRect();
  const left = box.x + box.width / 2 - size.width / 2;
  const above = box.y - size.height - 8;
  const width = root.clientWidth;
  tip.style.left = `${Math.max(8, Math.min(left, width - size.width - 8))}px`;
  tip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
}

/* The mark nearest to the pointer: a dot is smaller than a finger. */
function nearest(marks, x, y) {
  let best = null, least = 24 * 24;
  for (const mark of marks) {
    const box = mark.getBoundingClientRect();
    if (!box.width) continue;
    const across = Math.max(box.left - x, 0, x - box.right);
    const down = Math.max(box.top - y, 0, y - box.bottom);
    const centre = (box.left + box.width / 2 - x) ** 2 + (box.top + box.height / 2 - y) ** 2;
    const far = across ** 2 + down ** 2 + 1e-4 * centre;
    if (far < least) [best, least] = [mark, far];
  }
  return best;
}

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -1e9, End: 1e9 };
for (const chart of document.querySelectorAll("[data-marks]")) {
  const marks = [...chart.querySelectorAll(".mark")];
  const visible = () => marks.filter((mark) => mark.getClientRects().length);
  const point = (event) => show(nearest(marks, event.clientX, event.clientY));
  chart.addEventListener("pointermove", point);
  chart.addEventListener("pointerdown", point);
  chart.addEventListener("pointerleave", () => show(null));
  if (marks.length) marks[0].tabIndex = 0;
  chart.addEventListener("focusin", (event) => {
    const mark = event.target.closest(".mark");
    if (!mark) return;
    for (const other of marks) other.tabIndex = other === mark ? 0 : -1;
    show(mark);
  });
  chart.addEventListener("focusout", () => show(null));
  chart.addEventListener("keydown", (event) => {
    const step = STEPS[event.key], seen = visible();
    if (event.key === "Escape") show(null);
    if (!step || !seen.length) return;
    event.preventDefault();
    const at = seen.indexOf(document.activeElement) + step;
    seen[Math.max(0, Math.min(at, seen.length - 1))].focus();
  });
}
addEventListener("scroll", place, { passive: true });

/* A press on a heading sorts by its column, a second one turns the order round. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const number = head.dataset.kind === "number";
    const first = number ? "descending" : "ascending";
    const order = head.ariaSort === first ? (number ? "ascending" : "descending") : first;
    for (const other of heads) other.ariaSort = other === head ? order : null;
    const turn = order === "ascending" ? 1 : -1;
    const key = (row) => number ? parseFloat(row.cells[column].dataset.value) : row.cells[column].textContent;
    const sorted = [...body.rows].map((row) => [key(row), row]).sort(([a], [b]) => {
      if (!number) return turn * a.localeCompare(b);
      if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
      return turn * (a - b);
    });
    body.append(...sorted.map(([, row]) => row));
  }));
}

/* A table that is wider than its box fades out on the right, and a line below it says so. */
for (const box of document.querySelectorAll(".scroll")) {
  const tell = () => {
    box.classList.toggle("on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.nextElementSibling.hidden = box.scrollWidth <= box.clientWidth + 1;
  };
  box.addEventListener("scroll", tell, { passive: true });
  const watch = new ResizeObserver(tell);
  watch.observe(box);
  watch.observe(box.firstElementChild);
}

/* What to show: one choice for all parts of the page. */
const controls = document.querySelector("form.controls");
function choose() {
  const chosen = (name) => controls.querySelector(`[data-choose=${name}]`)?.value ?? "";
  const group = chosen("group"), threads = chosen("threads"), words = chosen("case").toLowerCase();
  const peers = new Set([...controls.querySelectorAll("[data-choose=peer]")]
    .filter((box) => !box.checked).map((box) => box.value));
  for (const part of document.querySelectorAll("main [data-threads]")) {
    part.hidden = threads !== "" && part.dataset.threads !== threads;
  }
  let count = new Set();
  for (const part of document.querySelectorAll("main [data-group], main [data-case], main [data-peer]")) {
    const { group: own, case: name, peer } = part.dataset;
    const out = (group && own && own !== group) || peers.has(peer) ||
      (words && name && !name.toLowerCase().includes(words));
    part.toggleAttribute("hidden", Boolean(out));
    if (!out && name && part.tagName === "TR") count.add(name);
  }
  controls.querySelector("output").textContent = group || words ? `${count.size} cases` : "";
}
if (controls) {
  controls.hidden = false;
  controls.addEventListener("input", choose);
  controls.addEventListener("submit", (event) => event.preventDefault());
  choose();
}
