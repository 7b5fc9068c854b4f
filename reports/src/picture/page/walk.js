// The walk: the steps that are possible next, and the way there and back. Its server has the states. A place never
// changes, so the address of the page is enough to come back to it.

let walk = null;
/** The places that were left by going back, the nearest one last. */
let ahead = [];
let asking = false;

/** Asks the server. Shows its sentence and returns null if it refuses. */
async function ask(method, path) {
  if (asking) return null;
  asking = true;
  byId("walk").setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(path, { method });
    const read = await answer.json();
    if (answer.ok) return read;
    tellWalk(read.error, true);
  } catch {
    tellWalk("The server does not answer: start the command again, and reload this page.", true);
  } finally {
    asking = false;
    byId("walk").removeAttribute("aria-busy");
  }
  return null;
}

function tellWalk(words, wrong = false) {
  const line = byId("walk-answer");
  line.hidden = !words;
  line.textContent = words;
  line.classList.toggle("wrong", wrong);
}

/** Shows a place. `remember` puts it into the history of the browser. */
function showPlace(read, remember = true) {
  if (!read) return;
  walk = read;
  tellWalk("");
  show(read.picture);
  if (remember) history.pushState(null, "", `?at=${read.place}`);
  fillWalk();
  select(end, true);
  scroller.scrollTop = scroller.scrollHeight;
}

const goTo = async (place, remember = true) => showPlace(await ask("GET", `state?at=${place}`), remember);

async function take(choice) {
  const read = await ask("POST", `take?at=${walk.place}&choice=${choice}`);
  if (read) ahead = [];
  showPlace(read);
}

function goBack() {
  if (walk.back === null || asking) return;
  ahead.push(walk.place);
  goTo(walk.back);
}

function goForward() {
  if (ahead.length && !asking) goTo(ahead.pop());
}

function takeRecorded() {
  if (walk.recorded?.next == null || asking) return;
  ahead = [];
  goTo(walk.recorded.next);
}

async function saveWay() {
  const saved = await ask("POST", `save?at=${walk.place}`);
  if (!saved) return;
  tellWalk(`Saved as ${saved.file}. `);
  byId("walk-answer").append(make("code", {}, saved.replay), copyButton(saved.replay));
}

function fillWalk() {
  byId("walk-back").disabled = walk.back === null;
  byId("walk-forward").disabled = !ahead.length;
  fillRecorded();
  const count = walk.next.reduce((sum, group) => sum + group.choices.length, 0);
  const faults = walk.faults.reduce((sum, group) => sum + group.choices.length, 0);
  byId("walk-choices").replaceChildren(...(count ? groupsOf(walk.next) : [make("p", { class: "hint" }, nothingWords(faults))]));
  byId("walk-faults").hidden = !faults;
  byId("walk-faults").querySelector("summary").textContent = `Faults (${number.format(faults)})`;
  byId("walk-faults").querySelector("div").replaceChildren(...groupsOf(walk.faults));
  byId("walk-awaits").hidden = !walk.awaits.length;
  byId("walk-awaits").querySelector("dl").replaceChildren(...walk.awaits.flatMap(placesOf));
  byId("walk-properties").hidden = !walk.properties.length;
  byId("walk-properties").querySelector("summary").textContent = `Monitors (${walk.properties.length})`;
  byId("walk-properties").querySelector("ul").replaceChildren(...walk.properties.map((name) => make("li", {}, name)));
  if (walk.skipped) tellWalk(`${number.format(walk.skipped)} of the way's steps are not possible in this build, and were left out.`, true);
  paintSwatches();
}

/** A place of a program: the innermost await, and those around it. */
function placesOf({ name, places }, at, all) {
  const [inner, ...outer] = places.map((place) => make("code", { title: place }, place.replace(/^.*\/(?=[^/]+\/src\/)/, "")));
  const dd = outer.length ? make("details", {}, make("summary", {}, inner), ...outer) : inner;
  return [make("dt", {}, at > 0 && all[at - 1].name === name ? "" : name), make("dd", {}, dd)];
}

function nothingWords(faults) {
  if (picture.violation) return "A property is violated, and the run ends here. Go back to try another way, or save this one.";
  return faults ? "Nothing but a fault can happen any more." : "Nothing can happen any more.";
}

function fillRecorded() {
  const { recorded } = walk;
  byId("walk-recorded").hidden = !recorded;
  if (!recorded) return;
  byId("walk-next").disabled = recorded.next === null;
  byId("walk-number").max = recorded.steps;
  byId("walk-number").value = recorded.shared;
  byId("walk-count").textContent = number.format(recorded.steps);
  const away = steps.length - 1 - recorded.shared;
  byId("walk-left").hidden = recorded.next !== null || away <= 0;
  byId("walk-left").textContent = `The way has left the record after step ${number.format(recorded.shared)}.`;
}

const groupsOf = (groups) => groups.flatMap((group) => [
  make("h3", {}, group.name),
  ...group.choices.map(choiceButton),
]);

function choiceButton(choice) {
  return make("button", {
    type: "button", class: `choice ${choice.kind}${choice.recorded ? " recorded" : ""}`, "data-choice": String(choice.choice),
    title: choice.recorded ? "The next step of the record" : false, onclick: () => take(choice.choice),
  },
    swatch(choice.kind), make("span", { class: "words" }, choice.words),
    make("span", { class: "when" }, choice.at === null ? "" : `at ${seconds(choice.at)}`),
    ...choice.notes.map((note) => make("span", { class: "note" }, note)));
}

KEYS.push(
  ["b", "walk: back", ["b"], goBack],
  ["n", "walk: forward", ["n"], goForward],
  ["r", "walk: next recorded step", ["r"], takeRecorded],
  ["s", "walk: save as a case", ["s"], saveWay],
);

const placeInAddress = () => Number(new URLSearchParams(location.search).get("at") ?? 0);

function startWalk() {
  byId("toggle-left").textContent = "Walk & filters";
  walk = JSON.parse(byId("state").textContent);
  byId("walk-back").addEventListener("click", goBack);
  byId("walk-forward").addEventListener("click", goForward);
  byId("walk-save").addEventListener("click", saveWay);
  byId("walk-next").addEventListener("click", takeRecorded);
  byId("walk-recorded").addEventListener("submit", (event) => {
    event.preventDefault();
    ahead = [];
    goTo(byId("walk-number").valueAsNumber);
  });
  window.addEventListener("popstate", () => {
    if (placeInAddress() !== walk.place) goTo(placeInAddress(), false);
  });
  fillWalk();
  select(end, true);
  Object.defineProperty(window.vivarium, "walk", { get: () => ({ ...walk, asking }) });
}
