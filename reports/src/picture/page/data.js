// The picture and what is computed from it: indexes by step, by lane and by block of steps. A walk shows one picture
// after the other, so `readPicture` computes all of it anew.

let picture = null;
let lanes = [];
let steps = [];
let arrows = [];
let spans = [];
let bars = [];
let lines = [];
let timed = false;
let end = 0;
let [arrowBlocks, spanBlocks, barBlocks] = [[], [], []];
let [sentIn, endedIn] = [[], []];
// A step that does nothing but read a ping goes with the pings.
let onlyPing = [];
// For each lane the steps that changed its state, with the new state.
let stateChanges = [];
// Beliefs of one lane that overlap are drawn side by side.
let barTracks = [];
let trackCount = [];

function readPicture(read) {
  picture = read;
  ({ lanes, steps, arrows, spans, bars, lines } = read);
  timed = steps.some((step) => step.at > 0);
  end = Math.max(0, steps.length - 1);
  arrowBlocks = blocksOf(arrows, (arrow) => arrow.sent, (arrow) => arrow.ended ?? end);
  spanBlocks = blocksOf(spans, (span) => span.from, (span) => span.to ?? end);
  barBlocks = blocksOf(bars, (bar) => bar.from, (bar) => bar.to ?? end);
  sentIn = steps.map(() => []);
  endedIn = steps.map(() => []);
  arrows.forEach((arrow, index) => {
    sentIn[arrow.sent].push(index);
    if (arrow.ended !== null) endedIn[arrow.ended].push(index);
  });
  onlyPing = steps.map(readsOnlyPing);
  stateChanges = lanes.map(() => []);
  steps.forEach((step, index) => {
    for (const [lane, state] of step.states) stateChanges[lane].push({ index, state });
  });
  barTracks = tracksOfBars();
  trackCount = lanes.map((_, lane) => bars.reduce((most, bar, index) => (bar.lane === lane ? Math.max(most, barTracks[index] + 1) : most), 0));
}

const readsOnlyPing = (step, index) =>
  !step.milestone && !step.events.length && !step.states.length &&
  (endedIn[index].length > 0 || sentIn[index].length > 0) &&
  endedIn[index].every((arrow) => arrows[arrow].ping) && sentIn[index].every((arrow) => arrows[arrow].ping);

const KINDS = {
  packet: "Packet read",
  server: "Server: thread or disk",
  timer: "Timer",
  program: "Program",
  fault: "Fault",
  mending: "End of a fault",
};

const ROLES = {
  leading: "leading",
  following: "following",
  synchronising: "synchronising",
  looking: "looking",
  connected: "connected",
  disconnected: "disconnected",
  expired: "expired",
  down: "down",
  cut: "cut off",
  paused: "paused",
};

// Faults are drawn around the band of a role, which can go on below them.
const FAULTS = new Set(["down", "cut", "paused"]);

const number = new Intl.NumberFormat("en-US");
const seconds = (at) => `${(at / 1e6).toFixed(6)} s`;
const spanWords = (span) => ROLES[span.kind] + (span.label ? ` · ${span.label}` : "");

/** Returns the position of the last element of a sorted list that is not above `value`, or -1. */
function lastNotAbove(list, value, key = (element) => element) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the position of the step with a number, or of the one before. */
const stepNumbered = (wanted) => Math.max(0, lastNotAbove(steps, wanted, (step) => step.number));

// What spans several steps is found by blocks of steps, so that a view looks only at its own blocks.
const BLOCK = 128;

function blocksOf(list, first, last) {
  const blocks = Array.from({ length: Math.floor(steps.length / BLOCK) + 1 }, () => []);
  list.forEach((element, index) => {
    const end = Math.floor(last(element) / BLOCK);
    for (let block = Math.floor(first(element) / BLOCK); block <= end; block++) blocks[block].push(index);
  });
  return blocks;
}

/** Calls `visit` once for each element that touches the steps from `first` to `last`. */
function eachWithin(blocks, list, first, last, from, to, visit) {
  const start = Math.max(0, Math.floor(first / BLOCK));
  const stop = Math.min(blocks.length - 1, Math.floor(last / BLOCK));
  for (let block = start; block <= stop; block++) {
    for (const index of blocks[block]) {
      const element = list[index];
      const home = Math.max(start, Math.floor(from(element) / BLOCK));
      if (home === block && from(element) <= last && to(element) >= first) visit(element, index);
    }
  }
}

const eachArrow = (first, last, visit) =>
  eachWithin(arrowBlocks, arrows, first, last, (arrow) => arrow.sent, (arrow) => arrow.ended ?? end, visit);
const eachSpan = (first, last, visit) =>
  eachWithin(spanBlocks, spans, first, last, (span) => span.from, (span) => span.to ?? end, visit);
const eachBar = (first, last, visit) =>
  eachWithin(barBlocks, bars, first, last, (bar) => bar.from, (bar) => bar.to ?? end, visit);

/** Returns the last change of a lane's state at or before a step, and the one before that change. */
function stateAt(lane, index) {
  const changes = stateChanges[lane];
  const at = lastNotAbove(changes, index, (change) => change.index);
  return { now: changes[at], before: changes[at - 1] };
}

/** Returns the spans of a lane that are open in a step: what it has become counts, what it has ceased to be does not. */
function spansAt(lane, index) {
  const open = [];
  eachSpan(index, index, (span) => {
    if (span.lane === lane && (span.to === null || span.to > index)) open.push(span);
  });
  return open;
}

function barsAt(lane, index) {
  const open = [];
  eachBar(index, index, (bar) => {
    if (bar.lane === lane && (bar.to === null || bar.to > index)) open.push(bar);
  });
  return open;
}

function tracksOfBars() {
  const ends = lanes.map(() => []);
  const order = bars.map((_, index) => index).sort((a, b) => bars[a].from - bars[b].from);
  const tracks = new Array(bars.length);
  for (const index of order) {
    const bar = bars[index];
    const free = ends[bar.lane].findIndex((stop) => stop <= bar.from);
    tracks[index] = free < 0 ? ends[bar.lane].length : free;
    ends[bar.lane][tracks[index]] = bar.to ?? Infinity;
  }
  return tracks;
}
