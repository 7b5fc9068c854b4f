// Which steps are shown: the settings of the filters, and the rows that they leave.

const filter = { text: "", path: "", milestones: false, pings: false, kinds: new Set(Object.keys(KINDS)), lanes: new Set() };

/** Positions of the steps shown, in order. */
let rows = [];
/** For each step the number of steps shown before it. */
let rowBefore = new Int32Array(1);
let shown = new Uint8Array(0);
/** The lanes shown, in order, and the column of each lane (-1 if it is not shown). */
let columns = [];
let columnOf = new Int32Array(0);
/** The paths of the run. */
let paths = [];

/** Makes room for a picture. Its lanes are shown, except those that were not shown before. */
function readFilter(before = []) {
  const hidden = new Set(before.filter((_, lane) => !filter.lanes.has(lane)).map((lane) => lane.name));
  filter.lanes = new Set([...lanes.keys()].filter((lane) => !hidden.has(lanes[lane].name)));
  rowBefore = new Int32Array(steps.length + 1);
  shown = new Uint8Array(steps.length);
  columnOf = new Int32Array(lanes.length);
  haystacks = null;
  paths = [...new Set(steps.flatMap((step) => step.paths))].sort();
}

// The texts of a step in one string, made when the first search needs them.
let haystacks = null;
const haystack = (index) => {
  haystacks ??= steps.map((step) =>
    [`#${step.number}`, step.words, ...step.notes, ...step.events].join("\n").toLowerCase());
  return haystacks[index];
};

const isBelow = (path, top) => path === top || path.startsWith(top.endsWith("/") ? top : `${top}/`);

function passes(step, index) {
  if (!filter.kinds.has(step.kind)) return false;
  if (filter.milestones && !step.milestone) return false;
  if (!filter.pings && onlyPing[index]) return false;
  if (step.lanes.length && !step.lanes.some((lane) => filter.lanes.has(lane))) return false;
  if (filter.path && !step.paths.some((path) => isBelow(path, filter.path))) return false;
  return !filter.text || haystack(index).includes(filter.text);
}

function applyFilter() {
  rows = [];
  for (let index = 0; index < steps.length; index++) {
    rowBefore[index] = rows.length;
    shown[index] = passes(steps[index], index) ? 1 : 0;
    if (shown[index]) rows.push(index);
  }
  rowBefore[steps.length] = rows.length;
  columns = lanes.map((_, lane) => lane).filter((lane) => filter.lanes.has(lane));
  columnOf.fill(-1);
  columns.forEach((lane, column) => { columnOf[lane] = column; });
}

function resetFilter() {
  Object.assign(filter, { text: "", path: "", milestones: false, pings: true });
  filter.kinds = new Set(Object.keys(KINDS));
  filter.lanes = new Set(lanes.keys());
}

/** An arrow is drawn if both its lanes are shown and at least one of its ends. */
function arrowShown(arrow) {
  if (arrow.ping && !filter.pings) return false;
  if (columnOf[arrow.from] < 0 || columnOf[arrow.to] < 0) return false;
  return shown[arrow.sent] || (arrow.ended !== null && shown[arrow.ended]);
}

/** Returns the next step shown in a direction that `wanted` accepts, or `index` if there is none. */
function nextShown(index, direction, wanted = () => true) {
  let row = direction > 0 ? rowBefore[index] + (shown[index] ? 1 : 0) : rowBefore[index] - 1;
  for (; row >= 0 && row < rows.length; row += direction) {
    if (wanted(steps[rows[row]])) return rows[row];
  }
  return index;
}
