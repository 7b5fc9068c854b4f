// Where things are: from steps to pixels of the diagram and back. Heights are of the whole run; the view is a window
// into it.

const PAD = 14;
const VIOLATION = 50; // the room for the violation's sentence below its step
const TRACKS = 6; // the most bars beside each other
const TIME = 76; // the width of the column of times
const TALLEST = 12e6; // browsers draw no element of more than some 16 million pixels

const view = {
  width: 0,
  height: 0,
  top: 0,
  left: 0,
  time: false,
  rowHeight: 24,
  perSecond: 400, // pixels, if time is true
  gutter: 0,
  laneWidth: 64, // of a lane without beliefs; a lane with beliefs is wider
  lanesWidth: 0,
  words: 0, // the width of the column of words, 0 if there is no room
};

let selected = -1;
let hovered = -1;

let startTime = 0;
let wholeTime = 1;
let violationAt = -1;

function readScale() {
  startTime = steps.length ? steps[0].at : 0;
  wholeTime = steps.length ? Math.max(1, steps[end].at - startTime) / 1e6 : 1;
  violationAt = picture.violation?.step ?? -1;
  middles = new Float64Array(lanes.length);
}

// Steps after the violation are moved down, to make room for its sentence.
const moved = (index) => (violationAt >= 0 && index > violationAt ? VIOLATION : 0);

/** The height of a step: the middle of its row, or, for a step left out, the boundary where it would be. */
function yOf(index) {
  if (view.time) return PAD + ((steps[index].at - startTime) / 1e6) * view.perSecond;
  return PAD + (rowBefore[index] + (shown[index] ? 0.5 : 0)) * view.rowHeight + moved(index);
}

function violationY() {
  if (view.time) return yOf(violationAt) + 6;
  return PAD + rowBefore[violationAt + 1] * view.rowHeight + 3;
}

function wholeHeight() {
  const rowsHeight = view.time ? wholeTime * view.perSecond : rows.length * view.rowHeight;
  return 2 * PAD + rowsHeight + VIOLATION + 10;
}

/** Returns the first and the last row that touch the heights from `top` to `bottom`. */
function rowsWithin(top, bottom) {
  const first = Math.max(0, lastNotAbove(rows, top - 30, yOf));
  const last = Math.min(rows.length - 1, lastNotAbove(rows, bottom + 30, yOf) + 1);
  return [first, last];
}

/** Returns the row nearest to a height, or -1. */
function rowNear(y) {
  if (!rows.length) return -1;
  const before = Math.max(0, lastNotAbove(rows, y, yOf));
  const after = Math.min(rows.length - 1, before + 1);
  return yOf(rows[after]) - y < y - yOf(rows[before]) ? after : before;
}

// The middle of each lane, from the end of the gutter.
let middles = new Float64Array(0);
const xOf = (lane) => view.gutter + middles[lane] - view.left;
const lanesEnd = () => view.gutter + view.lanesWidth - view.left;

/** Shares the width among the gutter, the lanes and the words. */
function layOut() {
  const digits = steps.length ? number.format(steps[end].number).length : 1;
  view.gutter = Math.max(54, 30 + digits * 7) + (timed ? TIME : 0);
  const room = view.width - view.gutter;
  // Beliefs need room for their bars and for a label.
  const extra = (lane) => (trackCount[lane] ? 9 + 7 * Math.min(TRACKS, trackCount[lane]) : 0);
  const extras = columns.reduce((sum, lane) => sum + extra(lane), 0);
  const wish = Math.max(190, room * 0.42); // for the words
  view.laneWidth = Math.round(Math.min(104, Math.max(38, (room - wish - extras) / Math.max(1, columns.length))));
  view.lanesWidth = 8; // for the label of the first lane
  for (const lane of columns) {
    middles[lane] = view.lanesWidth + view.laneWidth / 2;
    view.lanesWidth += view.laneWidth + extra(lane);
  }
  const left = room - view.lanesWidth;
  view.words = left >= 100 ? left : 0;
}

const MOST = { row: 64, second: () => (TALLEST - 100) / wholeTime };
const fitting = () => {
  const room = Math.max(60, view.height - 2 * PAD - VIOLATION - 12);
  return view.time ? room / wholeTime : room / Math.max(1, rows.length);
};

/** Sets the zoom within its limits: from the whole run in the view to rows of 64 pixels. */
function setZoom(value) {
  const most = view.time ? Math.min(2e6, MOST.second()) : Math.min(MOST.row, TALLEST / Math.max(1, rows.length));
  const least = Math.min(fitting(), view.time ? 400 : 24);
  const zoom = Math.min(most, Math.max(least, value));
  if (view.time) view.perSecond = zoom;
  else view.rowHeight = zoom;
}

const zoom = () => (view.time ? view.perSecond : view.rowHeight);
