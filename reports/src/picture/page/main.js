// What the reader does: scrolling, zooming, selecting, keys, the theme. Every change ends in one frame.

const scroller = byId("scroller");
const extent = byId("extent");
const headings = byId("headings");

let awaited = false;

/** Draws in the next frame, once, however many changes ask for it. */
function refresh() {
  if (awaited) return;
  awaited = true;
  requestAnimationFrame(() => { awaited = false; frame(); });
}

function frame() {
  view.top = scroller.scrollTop;
  view.left = scroller.scrollLeft;
  draw();
  drawOverview();
  moveHeadings();
}

/** Fits everything to the size of the window, the theme and the filters. */
function relay() {
  readTheme();
  view.width = scroller.clientWidth;
  view.height = scroller.clientHeight;
  layOut();
  canvas.width = view.width * ratio;
  canvas.height = view.height * ratio;
  canvas.style.width = `${view.width}px`;
  canvas.style.height = `${view.height}px`;
  setZoom(zoom());
  resize();
  fits.clear();
  fillHeadings();
  paintSwatches();
  refresh();
}

function resize() {
  extent.style.height = `${Math.max(view.height, Math.ceil(wholeHeight()))}px`;
  extent.style.width = `${Math.max(view.width, view.gutter + view.lanesWidth)}px`;
  renderOverview();
}

function fillHeadings() {
  headings.classList.toggle("narrow", view.laneWidth < 72);
  headings.classList.toggle("tight", view.laneWidth < 52);
  headings.replaceChildren(...columns.map((lane) => make("div", {
    class: `heading ${picture.violation?.lanes.includes(lane) ? "concerned" : ""}`,
    title: `${lanes[lane].name}${picture.violation?.lanes.includes(lane) ? ", concerned by the violation" : ""}`,
  },
    make("b", {}, lanes[lane].name), make("span", {}))));
  headings.prepend(make("div", { class: "gutter", style: `width:${view.gutter}px` }, make("span", { style: `right:${12 + (timed ? TIME : 0)}px` }, "step"), timed ? make("span", { style: "right:12px" }, "seconds") : null));
}

/** Moves the headings with the lanes. Below each name stands the fault or the role at the top of the view. */
function moveHeadings() {
  const row = Math.max(0, rowNear(view.top + PAD));
  const index = rows[row] ?? 0;
  const boxes = headings.querySelectorAll(".heading");
  columns.forEach((lane, column) => {
    const box = boxes[column];
    if (!box) return;
    box.style.transform = `translateX(${xOf(lane) - view.laneWidth / 2}px)`;
    box.style.width = `${view.laneWidth}px`;
    const open = view.laneWidth < 72 ? [] : spansAt(lane, index);
    const span = open.find((span) => FAULTS.has(span.kind)) ?? open[0];
    const role = span ? ROLES[span.kind] : "";
    if (box.lastChild.textContent !== role) box.lastChild.textContent = role;
  });
  const words = !steps.length ? "The run has no step" : rows.length ? `${number.format(rows.length)} of ${number.format(steps.length)} steps` : "No step passes the filters";
  if (byId("position").textContent !== words) byId("position").textContent = words;
}

function filterChanged() {
  const anchor = rows[Math.max(0, rowNear(view.top + view.height / 2))] ?? Math.max(0, selected);
  applyFilter();
  const out = steps.length - rows.length;
  byId("left-out").textContent = out ? `${number.format(out)} ${out === 1 ? "step" : "steps"} left out` : "every step shown";
  byId("left-out").dataset.count = String(out);
  relay();
  scroller.scrollTop = yOf(selected >= 0 && shown[selected] ? selected : anchor) - view.height / 2;
  if (selected >= 0) showStep();
}

/** Selects a step, and brings it into the view: to its middle if `jump`, else only as far as needed. */
function select(index, jump = false) {
  if (!steps.length) return;
  selected = Math.max(0, Math.min(end, index));
  const y = yOf(selected);
  const margin = Math.min(80, view.height / 4);
  if (jump && (y < scroller.scrollTop + margin || y > scroller.scrollTop + view.height - margin)) scroller.scrollTop = y - view.height / 2;
  else if (y < scroller.scrollTop + margin) scroller.scrollTop = y - margin;
  else if (y > scroller.scrollTop + view.height - margin) scroller.scrollTop = y - view.height + margin;
  showStep();
  markSentence();
  rememberStep();
  refresh();
}

let remembering = 0;

/** Puts the step into the address. Browsers object to hundreds of changes within seconds, so the last one is waited for. */
function rememberStep() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    try { history.replaceState(null, "", `#step-${steps[selected].number}`); } catch { /* some viewers of files forbid it */ }
  }, 300);
}

function markSentence() {
  for (const sentence of document.querySelectorAll("button.sentence")) {
    sentence.toggleAttribute("aria-current", Number(sentence.dataset.step) === selected);
  }
}

/** Zooms by a factor. What is at the height `at` of the view stays there. */
function zoomBy(factor, at = view.height / 2) {
  const row = (scroller.scrollTop + at - PAD) / zoom();
  setZoom(zoom() * factor);
  resize();
  scroller.scrollTop = row * zoom() + PAD - at;
  refresh();
}

function setTime(on) {
  const anchor = selected >= 0 ? selected : rows[Math.max(0, rowNear(view.top + view.height / 2))] ?? 0;
  view.time = on && timed;
  byId("time").checked = view.time;
  // A first scale at which neighbouring steps can be told apart on average.
  if (view.time) view.perSecond = Math.max(view.perSecond, (steps.length * 12) / wholeTime);
  relay();
  scroller.scrollTop = yOf(anchor) - view.height / 2;
}

function fit() {
  setZoom(view.time || rows.length * 24 > view.height ? fitting() : 24);
  resize();
  refresh();
}

const system = matchMedia("(prefers-color-scheme: dark)");
const CHOICE = "vivarium-theme";

/** Follows the reader's choice, else the system. Not every viewer of files has a place to keep a choice. */
function followTheme() {
  let choice = null;
  try { choice = localStorage.getItem(CHOICE); } catch { /* then there is no choice */ }
  document.documentElement.dataset.theme = choice ?? (system.matches ? "dark" : "light");
}

function switchTheme() {
  const { dataset } = document.documentElement;
  dataset.theme = dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem(CHOICE, dataset.theme); } catch { /* the choice is not kept */ }
  relay();
}

// The observer of the diagram's size draws it anew.
function toggleSide(side) {
  const hidden = byId("main").classList.toggle(`no-${side}`);
  byId(`toggle-${side}`).setAttribute("aria-pressed", String(!hidden));
}

const isFault = (step) => step.kind === "fault";
const isMilestone = (step) => step.milestone;

const KEYS = [
  ["j, ↓", "next step", ["j", "ArrowDown"], () => select(selected < 0 ? rows[0] : nextShown(selected, 1))],
  ["k, ↑", "step before", ["k", "ArrowUp"], () => select(selected < 0 ? rows[0] : nextShown(selected, -1))],
  ["J", "next milestone", ["J"], () => select(nextShown(Math.max(0, selected), 1, isMilestone), true)],
  ["K", "milestone before", ["K"], () => select(nextShown(Math.max(0, selected), -1, isMilestone), true)],
  ["f", "next fault", ["f"], () => select(nextShown(Math.max(0, selected), 1, isFault), true)],
  ["F", "fault before", ["F"], () => select(nextShown(Math.max(0, selected), -1, isFault), true)],
  ["g, Home", "first step", ["g", "Home"], () => select(rows[0] ?? 0, true)],
  ["G, End", "last step", ["G", "End"], () => select(rows[rows.length - 1] ?? 0, true)],
  ["v", "violation", ["v"], () => { if (violationAt >= 0) select(violationAt, true); }],
  ["+", "zoom in (also Ctrl and the wheel)", ["+", "="], () => zoomBy(1.3)],
  ["-", "zoom out", ["-"], () => zoomBy(1 / 1.3)],
  ["0", "whole run", ["0"], fit],
  ["t", "virtual time or one row per step", ["t"], () => setTime(!view.time)],
  ["m", "milestones only", ["m"], () => byId("milestones").click()],
  ["p", "pings", ["p"], () => byId("pings").click()],
  ["/", "search", ["/"], () => byId("search").focus()],
  ["d", "light or dark", ["d"], switchTheme],
  ["[", "script and filters", ["["], () => toggleSide("left")],
  ["]", "step", ["]"], () => toggleSide("right")],
  ["?", "this list", ["?"], () => byId("help").showModal()],
  ["Esc, Enter", "leave a field; Enter selects the next step shown", [], null],
];

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest?.("input[type=search], textarea");
  if (field) {
    if (event.key === "Escape" || event.key === "Enter") scroller.focus();
    if (event.key === "Enter" && rows.length) select(nextShown(Math.max(0, selected), 1), true);
    return;
  }
  // Keys that move the focus or work a control keep their meaning.
  if (byId("help").open) return;
  const entry = KEYS.find(([, , keys]) => keys.includes(event.key));
  if (!entry) return;
  event.preventDefault();
  entry[3]();
}

function indexUnder(event) {
  const row = rowNear(event.offsetY + view.top);
  if (row < 0) return -1;
  return Math.abs(yOf(rows[row]) - event.offsetY - view.top) <= Math.max(10, view.rowHeight) ? rows[row] : -1;
}

function listen() {
  scroller.addEventListener("scroll", refresh, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300), event.clientY - scroller.getBoundingClientRect().top);
  }, { passive: false });
  canvas.addEventListener("click", (event) => { if (indexUnder(event) >= 0) select(indexUnder(event)); });
  canvas.addEventListener("pointermove", (event) => {
    hovered = indexUnder(event);
    showTip(wordsAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
    refresh();
  });
  canvas.addEventListener("pointerleave", () => { hovered = -1; tip.hidden = true; refresh(); });
  document.addEventListener("keydown", pressed);
  byId("theme").addEventListener("click", switchTheme);
  byId("toggle-left").addEventListener("click", () => toggleSide("left"));
  byId("toggle-right").addEventListener("click", () => toggleSide("right"));
  byId("open-help").addEventListener("click", () => byId("help").showModal());
  byId("time").addEventListener("change", () => setTime(byId("time").checked));
  byId("zoom-in").addEventListener("click", () => zoomBy(1.3));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.3));
  byId("zoom-fit").addEventListener("click", fit);
  byId("go-violation").addEventListener("click", () => select(violationAt, true));
  system.addEventListener("change", () => { followTheme(); relay(); });
  window.addEventListener("hashchange", followHash);
  new ResizeObserver(relay).observe(scroller);
}

function followHash() {
  const wanted = /^#step-(\d+)$/.exec(location.hash);
  if (wanted) select(stepNumbered(Number(wanted[1])), true);
  return wanted !== null;
}

/** Shows a picture instead of the present one. The filters stay as they are. */
function show(read) {
  const before = lanes;
  readPicture(read);
  readFilter(before);
  readScale();
  byId("time").disabled = !timed;
  view.time = view.time && timed;
  fillHead();
  fillScript();
  fillLegend();
  fillChoices(filterChanged);
  selected = Math.min(selected, end);
  filterChanged();
}

function start() {
  followTheme();
  if (window.innerWidth < 1100) toggleSide("left");
  byId("keys").append(...KEYS.map(([keys, words]) => make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, keys)), make("td", {}, words))));
  show(JSON.parse(byId("data").textContent));
  fillCurve();
  listenToFilters(filterChanged);
  showStep();
  listen();
  if (!followHash()) scroller.scrollTop = 0;
  // For the browser test: where a step is on the screen, what one frame costs, and what is shown.
  window.vivarium = { place: (index) => ({ x: xOf(steps[index].lanes[0] ?? columns[0]), y: yOf(index) - scroller.scrollTop }), frame, get shown() { return shown; }, get picture() { return picture; }, ready: true };
}
