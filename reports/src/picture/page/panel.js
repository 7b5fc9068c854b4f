// The step selected: number, time, words, packets, and the state of every lane after it.

const panel = byId("panel");

function showStep() {
  if (selected < 0) {
    panel.replaceChildren(
      make("h2", { id: "panel-title" }, "No step selected"),
      make("p", { class: "hint" }, "Click a step, or press j and k, to see what happened and the state of every machine."));
    return;
  }
  const step = steps[selected];
  panel.replaceChildren(...[
    make("div", { class: "step-head" },
      make("h2", { id: "panel-title" }, `Step ${number.format(step.number)}`),
      timed ? make("span", { class: "when" }, seconds(step.at)) : null),
    make("p", { class: "kind" }, swatch(step.kind), KINDS[step.kind], step.milestone ? make("span", { class: "tag" }, "milestone") : null,
      shown[selected] ? null : make("span", { class: "tag" }, "left out by the filters")),
    make("p", { class: `words ${step.kind}` }, step.words),
    listing("notes", step.notes),
    listing("events", step.events),
    selected === violationAt ? make("p", { class: "violated" }, `Violated after this step: ${picture.violation.property}. ${picture.violation.saw}`) : null,
    packets(),
    step.paths.length ? make("p", { class: "chips" }, ...step.paths.map(pathChip)) : null,
    make("h3", {}, "State after this step"),
    ...stateOrder(step).map(laneState),
  ].filter((part) => part !== null));
  panel.parentElement.scrollTop = 0;
  byId("said").textContent = [`Step ${step.number}: ${step.words}`, ...step.events].join(". ");
  paintSwatches();
}

const listing = (name, texts) => (texts.length ? make("ul", { class: name }, ...texts.map((text) => make("li", {}, text))) : null);

function pathChip(path) {
  return make("button", { type: "button", class: "chip", title: "Show only the steps of this path", onclick: () => {
    byId("path").value = path;
    byId("path").dispatchEvent(new Event("input"));
  } }, path);
}

/** The packets that the step sent, read or lost, each with a jump to its other end. */
function packets() {
  const line = (arrow, words, other) => make("li", {}, words, arrow.words ? `: ${arrow.words} ` : " ", other === null ? "" : stepLink(other));
  const read = endedIn[selected].map((index) => arrows[index]).map((arrow) =>
    line(arrow, `${arrow.lost ? "lost" : "read"}, ${lanes[arrow.from].name} → ${lanes[arrow.to].name}`, arrow.sent));
  const sent = sentIn[selected].map((index) => arrows[index]).map((arrow) =>
    line(arrow, `${arrow.ended === null ? "sent, never read" : arrow.lost ? "sent, will be lost" : "sent"}, to ${lanes[arrow.to].name}`, arrow.ended));
  return read.length + sent.length ? make("ul", { class: "packets" }, ...read, ...sent) : null;
}

const stepLink = (index) =>
  make("button", { type: "button", class: "link", onclick: () => select(index, true) }, `#${number.format(steps[index].number)}`);

/** The lanes of the step first. */
const stateOrder = (step) => [...step.lanes, ...lanes.keys()].filter((lane, at, all) => all.indexOf(lane) === at);

// Lanes that a reader has folded or unfolded stay so from step to step.
const folded = new Map();

function laneState(lane, position) {
  const { now, before } = stateAt(lane, selected);
  const fresh = now?.index === selected;
  const concerned = steps[selected].lanes.includes(lane);
  const roles = [...spansAt(lane, selected).map(spanWords), ...barsAt(lane, selected).map((bar) => bar.label)].join(", ");
  const details = make("details", { class: fresh ? "lane fresh" : "lane", open: folded.get(lanes[lane].name) ?? (concerned || fresh || position < 2) },
    make("summary", {}, make("b", {}, lanes[lane].name), make("span", { class: "roles" }, roles), fresh ? make("span", { class: "tag" }, "changed") : null));
  details.querySelector("summary").addEventListener("click", () => folded.set(lanes[lane].name, !details.open));
  if (!now) details.append(make("p", { class: "hint" }, "No state is recorded before this step."));
  else if (!now.state.length) details.append(make("p", { class: "hint" }, "It has no state."));
  else details.append(make("ul", { class: "state" }, ...(fresh && before ? difference(before.state, now.state) : now.state.map((line) => ["", line])).map(stateLine)));
  return details;
}

function stateLine([sign, line]) {
  const name = { "+": "new", "-": "gone", "": false }[sign];
  return make("li", { class: name, title: name }, lines[line]);
}

/** Returns the lines of two states in order, each with `+` (new), `-` (gone) or nothing, by their longest common part. */
function difference(before, now) {
  let head = 0;
  while (head < before.length && head < now.length && before[head] === now[head]) head++;
  const old = before.slice(head);
  const fresh = now.slice(head);
  // A table of the square of two long states would take seconds: such states are compared as sets.
  const result = old.length * fresh.length > 1e6 ? bySets(old, fresh) : byCommonPart(old, fresh);
  return [...now.slice(0, head).map((line) => ["", line]), ...result];
}

function bySets(old, fresh) {
  const [olds, news] = [new Set(old), new Set(fresh)];
  return [...old.filter((line) => !news.has(line)).map((line) => ["-", line]), ...fresh.map((line) => [olds.has(line) ? "" : "+", line])];
}

function byCommonPart(old, fresh) {
  const width = fresh.length + 1;
  const best = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      best[i * width + j] = old[i] === fresh[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const result = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) { result.push(["", fresh[j++]]); i++; }
    else if (i < old.length && (j >= fresh.length || best[(i + 1) * width + j] >= best[i * width + j + 1])) result.push(["-", old[i++]]);
    else result.push(["+", fresh[j++]]);
  }
  return result;
}
