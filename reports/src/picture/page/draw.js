// The diagram: what is in the view is drawn anew in each frame, and nothing else is looked at.

const FONT = '12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const SMALL = '11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** Draws the view. */
function draw() {
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colours.back;
  pen.fillRect(0, 0, view.width, view.height);
  if (!steps.length) return;
  const [firstRow, lastRow] = rowsWithin(view.top, view.top + view.height);
  const first = firstRow > 0 ? rows[firstRow - 1] + 1 : 0;
  const last = lastRow + 1 < rows.length ? rows[lastRow + 1] : end;
  drawStripes(firstRow, lastRow);
  pen.save();
  pen.beginPath();
  pen.rect(view.gutter, 0, view.width, view.height);
  pen.clip();
  drawLifelines();
  const labels = drawSpans(first, last);
  drawBars(first, last, labels);
  drawArrows(first, last);
  drawMarks(firstRow, lastRow);
  drawLabels(labels);
  pen.restore();
  drawTexts(firstRow, lastRow);
  drawViolation();
}

const screenY = (index) => yOf(index) - view.top;
/** The height that a step has on average. Below 9 pixels only what matters is drawn; below 3, only what matters most. */
const roomOfStep = () => (view.time ? (wholeTime * view.perSecond) / Math.max(1, rows.length) : view.rowHeight);

function drawStripes(firstRow, lastRow) {
  if (selected >= 0) drawStripe(selected, colours.select);
  if (hovered >= 0 && hovered !== selected) drawStripe(hovered, colours.stripe);
  if (view.time || roomOfStep() < 9) return;
  pen.fillStyle = colours.line;
  for (let row = firstRow; row <= lastRow; row++) {
    // A dotted line in the gutter where steps are left out.
    const before = row > 0 ? rows[row - 1] : -1;
    if (rows[row] - before <= 1) continue;
    const y = Math.round(screenY(rows[row]) - view.rowHeight / 2);
    for (let x = 8; x < view.gutter - 8; x += 4) pen.fillRect(x, y, 2, 1);
  }
}

function drawStripe(index, colour) {
  const height = view.time || !shown[index] ? Math.min(20, Math.max(3, view.rowHeight)) : Math.max(3, view.rowHeight);
  pen.fillStyle = colour;
  pen.fillRect(0, screenY(index) - height / 2, view.width, height);
}

function drawLifelines() {
  pen.fillStyle = colours.line;
  for (const lane of columns) pen.fillRect(Math.round(xOf(lane)), 0, 1, view.height);
}

/** Draws roles, and faults around them. Returns the labels, which come above the arrows. */
function drawSpans(first, last) {
  const labels = [];
  const bottom = wholeHeight() - view.top;
  const one = (span) => {
    if (columnOf[span.lane] < 0) return;
    const x = xOf(span.lane);
    const from = Math.max(-40, screenY(span.from));
    const to = Math.min(view.height + 40, span.to === null ? bottom : screenY(span.to));
    if (to < 0 || from > view.height) return;
    drawBand(pen, span.kind, x, from, to, view.laneWidth * 0.5);
    const half = Math.min(BANDS[span.kind].width, view.laneWidth * 0.5) / 2;
    const fault = FAULTS.has(span.kind);
    labels.push({ words: spanWords(span), x: x - half - 8, from, to, colour: fault ? colours[span.kind] : colours.muted, first: fault });
  };
  eachSpan(first, last, (span) => { if (!FAULTS.has(span.kind)) one(span); });
  eachSpan(first, last, (span) => { if (FAULTS.has(span.kind)) one(span); });
  return labels;
}

const BAR = 5;

function drawBars(first, last, labels) {
  const bottom = wholeHeight() - view.top;
  eachBar(first, last, (bar, index) => {
    if (columnOf[bar.lane] < 0) return;
    const x = Math.round(xOf(bar.lane) + 12 + (barTracks[index] % TRACKS) * (BAR + 2));
    const from = Math.max(-40, screenY(bar.from));
    const to = Math.min(view.height + 40, bar.to === null ? bottom : screenY(bar.to));
    if (to < 0 || from > view.height) return;
    pen.fillStyle = colours.belief;
    pen.beginPath();
    pen.roundRect(x, from, BAR, Math.max(2, to - from), 2.5);
    pen.fill();
    const beside = Math.round(xOf(bar.lane) + 12 + Math.min(TRACKS, trackCount[bar.lane]) * (BAR + 2) + 6);
    labels.push({ words: bar.label, x: beside, from, to, colour: colours.belief, first: false });
  });
}

/**
 * Writes the labels beside their bands, top to bottom: those of faults first, the others where they have room. A label
 * stays in the view as long as its band does.
 */
function drawLabels(labels) {
  const placed = [];
  labels.sort((a, b) => Number(b.first) - Number(a.first) || a.from - b.from);
  for (const label of labels) {
    const length = lengthOf(label.words, SMALL);
    let top = Math.max(5, label.from + 4);
    for (const other of placed.filter((other) => Math.abs(other.x - label.x) < 13)) {
      if (top < other.bottom && top + length > other.top) top = other.bottom + 8;
    }
    const room = Math.min(view.height, label.to) - top - 4;
    if (room < Math.min(length, Math.max(44, length * 0.8))) continue;
    placed.push({ x: label.x, top, bottom: top + Math.min(room, length) });
    drawLabel(label, top, Math.min(room, 240));
  }
}

function drawLabel({ words, x, colour }, top, room) {
  const text = fitted(words, room, SMALL);
  pen.save();
  pen.translate(x, top);
  pen.rotate(Math.PI / 2);
  pen.font = SMALL;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = colours.back;
  pen.strokeText(text, 0, 0);
  pen.fillStyle = colour;
  pen.fillText(text, 0, 0);
  pen.restore();
}

/** The ends of an arrow on the screen. One that was lost, or is under way at the end, stops before the receiver. */
function arrowEnds(arrow) {
  const x1 = xOf(arrow.from);
  const y1 = screenY(arrow.sent);
  const reached = arrow.ended !== null && !arrow.lost;
  const y2 = arrow.ended === null ? wholeHeight() - view.top - 12 : screenY(arrow.ended);
  const share = reached ? 1 : arrow.lost ? 0.72 : 0.6;
  return { x1, y1, x2: x1 + (xOf(arrow.to) - x1) * share, y2, reached };
}

function drawArrows(first, last) {
  const groups = { plain: [], ping: [], lost: [], strong: [] };
  const about = hovered >= 0 ? hovered : selected;
  eachArrow(first, last, (arrow) => {
    if (!arrowShown(arrow)) return;
    const ends = arrowEnds(arrow);
    if (Math.max(ends.y1, ends.y2) < 0 || Math.min(ends.y1, ends.y2) > view.height) return;
    const strong = arrow.sent === about || arrow.ended === about;
    groups[arrow.lost ? "lost" : strong ? "strong" : arrow.ping ? "ping" : "plain"].push(ends);
  });
  // The more arrows there are, the fainter is each, so that roles and faults stay visible.
  const many = groups.plain.length > 400;
  const alpha = many ? Math.max(0.05, 250 / groups.plain.length) : 1;
  strokeArrows(groups.ping, colours.ping, 0.8, alpha, [], !many);
  strokeArrows(groups.plain, colours.arrow, many ? 0.8 : 1.1, alpha, [], !many);
  strokeArrows(groups.lost, colours.lost, 1.2, many ? Math.min(0.35, Math.max(0.08, 60 / groups.lost.length)) : 1, many ? [] : [5, 3], !many);
  strokeArrows(groups.strong, colours.accent, 2, 1, [], true);
}

/** The part of a line between two heights. Lines of a long run go on far above and below the view. */
function clipped({ x1, y1, x2, y2 }, top, bottom) {
  if (y1 >= top && y2 <= bottom) return [x1, y1, x2, y2];
  const xAt = (y) => x1 + ((x2 - x1) * (y - y1)) / (y2 - y1 || 1);
  const [from, to] = [Math.max(y1, top), Math.min(y2, bottom)];
  return [xAt(from), from, xAt(to), to];
}

function strokeArrows(list, colour, width, alpha, dash, heads) {
  if (!list.length) return;
  pen.globalAlpha = alpha;
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.beginPath();
  for (const ends of list) {
    const [x1, y1, x2, y2] = clipped(ends, -10, view.height + 10);
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
  }
  pen.stroke();
  pen.setLineDash([]);
  if (heads) drawHeads(list);
  pen.globalAlpha = 1;
}

/** A head where a packet was read, a cross where it was lost or is still under way. */
function drawHeads(list) {
  pen.beginPath();
  for (const ends of list) if (ends.reached) arrowHead(ends);
  pen.fill();
  pen.lineWidth = 2;
  pen.beginPath();
  for (const { x2, y2, reached } of list) if (!reached) cross(pen, x2, y2, 4);
  pen.stroke();
}

function arrowHead({ x1, y1, x2, y2 }) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const dx = (x2 - x1) / length;
  const dy = (y2 - y1) / length;
  // The head ends at the mark's edge, not below it.
  const x = x2 - dx * 5;
  const y = y2 - dy * 5;
  pen.moveTo(x, y);
  pen.lineTo(x - dx * 7 - dy * 3, y - dy * 7 + dx * 3);
  pen.lineTo(x - dx * 7 + dy * 3, y - dy * 7 - dx * 3);
  pen.closePath();
}

function drawMarks(firstRow, lastRow) {
  const room = roomOfStep();
  // The lowest mark of each lane: on a whole run, marks that would cover it are left out.
  const lowest = new Float64Array(lanes.length).fill(-100);
  for (let row = firstRow; row <= lastRow; row++) {
    const step = steps[rows[row]];
    const y = screenY(rows[row]);
    const fault = step.kind === "fault" || step.kind === "mending";
    const at = step.lanes.filter((lane) => columnOf[lane] >= 0);
    if (step.lanes.length === 0 && columns.length) at.push(columns[0], columns[columns.length - 1]);
    if (room >= 4) drawLink(step.kind, at, y);
    at.forEach((lane, order) => {
      if (room < 3 && (!fault || order > 0 || y - lowest[lane] < 7)) return;
      lowest[lane] = y;
      const small = room < 9;
      if (small && !fault && !step.milestone) {
        pen.fillStyle = colours[step.kind];
        pen.fillRect(xOf(lane) - 2, y - 0.75, 4, 1.5);
      } else drawMark(pen, step.kind, xOf(lane), y, order > 0 ? 2.5 : small ? 3 : fault || step.milestone ? 5 : 3.8);
    });
  }
}

/** A line between the lanes of a step on several lanes. */
function drawLink(kind, at, y) {
  if (at.length < 2) return;
  const xs = at.map(xOf);
  pen.fillStyle = colours[kind];
  pen.fillRect(Math.min(...xs), y - 0.75, Math.max(...xs) - Math.min(...xs), 1.5);
}

// Widths of texts are kept: measuring is the slowest part of a frame.
const fits = new Map();
const lengths = new Map();

function lengthOf(words, font) {
  let length = lengths.get(words);
  if (length === undefined) {
    pen.font = font;
    length = pen.measureText(words).width;
    lengths.set(words, length);
  }
  return length;
}

function fitted(words, width, font) {
  const key = `${font[1]}${Math.round(width)}${words}`;
  let text = fits.get(key);
  if (text !== undefined) return text;
  if (fits.size > 20000) fits.clear();
  pen.font = font;
  text = words;
  if (pen.measureText(text).width > width) {
    let low = 0;
    let high = words.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(`${words.slice(0, middle).trimEnd()}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    text = `${words.slice(0, low).trimEnd()}…`;
  }
  fits.set(key, text);
  return text;
}

/** Writes number and time before the lanes and the words after them, as far as no text meets another. */
function drawTexts(firstRow, lastRow) {
  const order = [];
  for (let row = firstRow; row <= lastRow; row++) order.push(row);
  const important = (row) => steps[rows[row]].milestone || rows[row] === selected;
  const taken = new Set();
  const place = (row) => {
    // Texts are 15 pixels apart: a slot of that height takes one text, and no neighbour that would touch it.
    const y = screenY(rows[row]);
    const slot = Math.floor(y / 5);
    for (let near = slot - 3; near <= slot + 3; near++) if (taken.has(near)) return;
    taken.add(slot);
    drawText(rows[row], y);
  };
  pen.textBaseline = "middle";
  if (!view.time && view.rowHeight >= 15) order.forEach((row) => drawText(rows[row], screenY(rows[row])));
  else {
    order.filter((row) => rows[row] === selected).forEach(place);
    order.filter((row) => rows[row] !== selected && important(row)).forEach(place);
    order.filter((row) => !important(row)).forEach(place);
  }
}

function drawText(index, y) {
  const step = steps[index];
  if (y < -10 || y > view.height + 10) return;
  pen.font = SMALL;
  pen.textAlign = "right";
  pen.fillStyle = index === selected ? colours.text : colours.muted;
  const time = timed ? TIME : 0;
  pen.fillText(number.format(step.number), view.gutter - 12 - time, y);
  if (timed) {
    pen.fillStyle = index === selected ? colours.text : colours.faint;
    pen.fillText(`${(step.at / 1e6).toFixed(6)}`, view.gutter - 12, y);
  }
  if (!view.words) return;
  const fault = step.kind === "fault";
  pen.font = FONT;
  pen.textAlign = "left";
  pen.fillStyle = fault ? colours.fault : step.milestone || index === selected ? colours.text : colours.muted;
  pen.fillText(fitted(rowWords(step), view.words - 26, FONT), lanesEnd() + 10, y);
}

/** The words of a row: without what the lanes show already, which is who acts and whose packet is read. */
function rowWords(step) {
  if (step.kind === "fault" || step.kind === "mending") return step.words;
  const told = step.milestone && step.events.length ? step.events[0] : step.words;
  const packet = told.match(/^[^:]*? (?:reads|takes)(?: [^:]*)?: (.+)$/s);
  if (packet && step.kind === "packet" && !step.milestone) return packet[1];
  const name = step.lanes.length ? lanes[step.lanes[0]].name : "";
  const rest = name && told.startsWith(name) ? told.slice(name.length).replace(/^(?:'s program)?(?: \(session [^)]*\))?:? /, "") : told;
  return rest || told;
}

function drawViolation() {
  if (violationAt < 0) return;
  const y = Math.round(violationY() - view.top);
  if (y < -60 || y > view.height + 10) return;
  pen.fillStyle = colours.fault;
  pen.fillRect(0, y, view.width, 2);
  const { property, saw } = picture.violation;
  pen.font = FONT;
  const texts = wrapped(`Violated: ${property}. ${saw}`, view.width - 40, FONT);
  const width = Math.max(...texts.map((text) => pen.measureText(text).width));
  pen.beginPath();
  pen.roundRect(10, y + 1, width + 20, 8 + 16 * texts.length, [0, 0, 6, 6]);
  pen.fill();
  pen.fillStyle = colours.back;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  texts.forEach((text, line) => pen.fillText(text, 20, y + 13 + 16 * line));
}

/** A text on at most two lines. */
function wrapped(words, width, font) {
  const one = fitted(words, width, font);
  if (one === words) return [words];
  const cut = words.lastIndexOf(" ", one.length - 1);
  return cut > 0 ? [words.slice(0, cut), fitted(words.slice(cut + 1), width, font)] : [one];
}
