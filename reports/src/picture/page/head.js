// What stands around the diagram: the facts, the minimised run, the curve, the controls of the filters, the legend.

/** Makes an element. Children are elements or texts; a text is never read as HTML. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const byId = (id) => document.getElementById(id);

function copyButton(text) {
  const button = make("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text)) ? "Copied" : "Select and copy";
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
  return button;
}

// Pages from files may not use the clipboard's interface in every browser.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

const isCommand = (name) => name === "replay";

/** The facts that the sentence of the violation does not say already. */
function unsaidFacts() {
  const said = picture.violation ? [picture.violation.property, picture.violation.saw] : [];
  return picture.facts.filter(([, value]) => !said.includes(value));
}

function fillHead() {
  byId("title").textContent = picture.title;
  const { violation } = picture;
  byId("verdict").textContent = violation ? `Violated: ${violation.property}` : "";
  byId("saw").textContent = violation?.saw ?? "";
  for (const id of ["verdict", "saw"]) byId(id).hidden = !violation;
  byId("go-violation").hidden = violationAt < 0;
  byId("facts").replaceChildren(...unsaidFacts().map(([name, value]) => {
    const text = isCommand(name) || name === "hash" ? make("code", {}, value) : value;
    return make("div", {}, make("dt", {}, name), make("dd", {}, text, isCommand(name) ? copyButton(value) : null));
  }));
  byId("options").hidden = !picture.options.length;
  byId("options").querySelector("summary").textContent = "What the seed stands for";
  byId("options").querySelector("ul").replaceChildren(...picture.options.map((option) => make("li", {}, option)));
}

function fillScript() {
  byId("script").hidden = !picture.script.length;
  byId("script").querySelector("ol").replaceChildren(...picture.script.map((sentence) => {
    const words = [
      make("span", { class: "count" }, String(sentence.number)),
      make("span", { class: "words" }, sentence.fault ? make("b", { class: "fault-tag" }, "fault") : null, sentence.words),
    ];
    const line = sentence.step === null
      ? make("div", { class: "sentence", title: "This picture does not show the step" }, ...words)
      : make("button", { type: "button", class: "sentence", "data-step": String(sentence.step), onclick: () => select(sentence.step, true) }, ...words);
    return make("li", { class: sentence.fault ? "fault" : false }, line);
  }));
}

const SVG = "http://www.w3.org/2000/svg";

function draft(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

const CURVE = { width: 280, height: 132, left: 36, right: 10, top: 12, bottom: 24 };

/** The probability of the violation over the number of the step. A click jumps to the step. */
function fillCurve() {
  const { curve } = picture;
  if (!curve || !curve.points.length) return;
  byId("curve").hidden = false;
  byId("curve-words").textContent = curve.words;
  const first = curve.points[0].step;
  const last = Math.max(first + 1, curve.points[curve.points.length - 1].step);
  const x = (step) => CURVE.left + ((step - first) / (last - first)) * (CURVE.width - CURVE.left - CURVE.right);
  const y = (share) => CURVE.top + (1 - share) * (CURVE.height - CURVE.top - CURVE.bottom);
  const share = (point) => (point.runs ? point.violating / point.runs : 0);
  const svg = draft("svg", { viewBox: `0 0 ${CURVE.width} ${CURVE.height}`, role: "img", "aria-label": `Probability of the violation over the steps. ${curve.words}` });
  for (const level of [0, 0.5, 1]) {
    svg.append(draft("line", { x1: CURVE.left, x2: CURVE.width - CURVE.right, y1: y(level), y2: y(level), class: "grid" }));
    svg.append(draft("text", { x: CURVE.left - 6, y: y(level) + 3.5, class: "axis", "text-anchor": "end" }, `${level * 100}%`));
  }
  const line = curve.points.map((point) => `${x(point.step).toFixed(1)},${y(share(point)).toFixed(1)}`);
  svg.append(draft("polygon", { points: `${x(first)},${y(0)} ${line.join(" ")} ${x(last)},${y(0)}`, class: "area" }));
  svg.append(draft("polyline", { points: line.join(" "), class: "line" }));
  const jumpX = x(Math.min(last, Math.max(first, curve.jump)));
  svg.append(draft("line", { x1: jumpX, x2: jumpX, y1: CURVE.top - 6, y2: y(0), class: "jump" }));
  svg.append(draft("text", { x: jumpX, y: CURVE.height - 8, class: "axis strong", "text-anchor": "middle" }, number.format(curve.jump)));
  if (jumpX - x(first) > 50) svg.append(draft("text", { x: x(first), y: CURVE.height - 8, class: "axis" }, number.format(first)));
  if (x(last) - jumpX > 60) svg.append(draft("text", { x: x(last), y: CURVE.height - 8, class: "axis", "text-anchor": "end" }, number.format(last)));
  for (const point of curve.points) {
    const dot = draft("circle", { cx: x(point.step), cy: y(share(point)), r: 2.6, class: "point" });
    dot.append(draft("title", {}, `step ${number.format(point.step)}: ${point.violating} of ${point.runs} runs`));
    svg.append(dot);
  }
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * CURVE.width;
    // A click close to the jump means the jump.
    const wanted = first + ((at - CURVE.left) / (CURVE.width - CURVE.left - CURVE.right)) * (last - first);
    select(stepNumbered(Math.abs(at - jumpX) < 8 ? curve.jump : wanted), true);
  });
  byId("curve-plot").append(svg);
  byId("curve-plot").append(make("button", { type: "button", class: "link", onclick: () => select(stepNumbered(curve.jump), true) }, `Go to step ${number.format(curve.jump)}, where it jumps`));
}

function checkbox(words, set, key, changed) {
  const box = make("input", { type: "checkbox", checked: set().has(key) });
  box.addEventListener("change", () => {
    if (box.checked) set().add(key);
    else set().delete(key);
    changed();
  });
  return make("label", { class: "check" }, box, ...words);
}

/** Fills the choices of the filters, which depend on the picture. */
function fillChoices(changed) {
  const present = new Set(steps.map((step) => step.kind));
  const kinds = Object.keys(KINDS).filter((kind) => present.has(kind));
  byId("kinds").replaceChildren(...kinds.map((kind) => checkbox([swatch(kind), KINDS[kind]], () => filter.kinds, kind, changed)));
  byId("lanes").replaceChildren(...lanes.map((lane, index) => checkbox([lane.name], () => filter.lanes, index, changed)));
  // More suggestions than these no one reads, and the field takes any path.
  byId("paths").replaceChildren(...paths.slice(0, 2000).map((path) => make("option", { value: path })));
}

function listenToFilters(changed) {
  const text = (id, key, value) => byId(id).addEventListener("input", () => { filter[key] = value(byId(id).value); changed(); });
  text("search", "text", (value) => value.trim().toLowerCase());
  text("path", "path", (value) => value.trim());
  for (const id of ["milestones", "pings"]) {
    byId(id).addEventListener("change", () => { filter[id] = byId(id).checked; changed(); });
  }
  byId("reset").addEventListener("click", () => {
    resetFilter();
    for (const box of byId("filters").querySelectorAll("input[type=checkbox]")) box.checked = box.id !== "milestones";
    byId("search").value = byId("path").value = "";
    changed();
  });
}

/** A small canvas with the mark of a kind of steps or the band of a role. */
function swatch(kind) {
  return make("canvas", { class: "swatch", "data-mark": kind, "aria-hidden": "true" });
}

function fillLegend() {
  const roles = Object.keys(ROLES).filter((kind) => spans.some((span) => span.kind === kind));
  const item = (kind, words) => make("div", {}, swatch(kind), words);
  byId("legend-items").replaceChildren(
    ...roles.map((kind) => item(kind, ROLES[kind])),
    ...(bars.length ? [item("belief", "belief")] : []),
    item("arrow", "packet"),
    item("lost", "packet lost"),
    ...(arrows.some((arrow) => arrow.ping) ? [item("ping", "ping")] : []),
  );
}

/** Paints all swatches in the colours of the theme. */
function paintSwatches() {
  for (const tile of document.querySelectorAll("canvas.swatch")) {
    const [width, height] = [KINDS[tile.dataset.mark] ? 18 : 30, 16];
    tile.style.width = `${width}px`;
    tile.width = width * ratio;
    tile.height = height * ratio;
    const ink = tile.getContext("2d");
    ink.scale(ratio, ratio);
    const kind = tile.dataset.mark;
    if (BANDS[kind]) {
      ink.translate(width / 2, height / 2);
      ink.rotate(Math.PI / 2);
      drawBand(ink, kind, 0, -13, 13, 14);
    } else if (KINDS[kind]) drawMark(ink, kind, width / 2, height / 2, kind === "fault" || kind === "mending" ? 5 : 4);
    else if (kind === "belief") {
      ink.fillStyle = colours.belief;
      ink.fillRect(2, height / 2 - 2.5, width - 4, 5);
    } else paintArrow(ink, kind, width, height / 2);
  }
}

function paintArrow(ink, kind, width, y) {
  ink.strokeStyle = ink.fillStyle = colours[kind];
  ink.lineWidth = kind === "ping" ? 0.8 : 1.3;
  if (kind === "lost") ink.setLineDash([5, 3]);
  ink.beginPath();
  ink.moveTo(2, y);
  ink.lineTo(width - 7, y);
  ink.stroke();
  ink.setLineDash([]);
  ink.beginPath();
  if (kind === "lost") cross(ink, width - 7, y, 4);
  else for (const [x, dy] of [[width - 2, 0], [width - 9, -3.5], [width - 9, 3.5]]) ink.lineTo(x, y + dy);
  if (kind === "lost") ink.stroke();
  else ink.fill();
}
