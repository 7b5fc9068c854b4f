// What the pointer is on: a row, a packet, a span or a belief, told in a small box.

const tip = byId("tip");

const FAR = 6; // pixels from an arrow at which it is still meant

function arrowAt(x, y, first, last) {
  let best = null;
  let least = FAR;
  eachArrow(first, last, (arrow) => {
    if (!arrowShown(arrow)) return;
    const { x1, y1, x2, y2 } = arrowEnds(arrow);
    const away = distance(x, y, x1, y1, x2, y2);
    if (away < least) [best, least] = [arrow, away];
  });
  return best;
}

function distance(x, y, x1, y1, x2, y2) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const share = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x1 - share * dx, y - y1 - share * dy);
}

/** What a point of the diagram shows, in words, or an empty text. */
function wordsAt(x, y) {
  const row = rowNear(y + view.top);
  if (row < 0) return "";
  const index = rows[row];
  if (Math.abs(screenY(index) - y) > Math.max(8, view.rowHeight)) return "";
  const lane = columns.findLast((candidate) => xOf(candidate) - view.laneWidth / 2 <= x);
  const step = steps[index];
  const onMark = Math.abs(screenY(index) - y) < 9 && step.lanes.some((at) => columnOf[at] >= 0 && Math.abs(xOf(at) - x) < 9);
  if (onMark || x > lanesEnd()) return [`#${number.format(step.number)}  ${step.words}`, ...step.events].join("\n");
  if (x < view.gutter) return "";
  const arrow = arrowAt(x, y, index - 1, index + 1);
  if (arrow) return arrowWords(arrow);
  if (lane === undefined) return "";
  const dx = x - xOf(lane);
  if (dx > 9 && dx < 22 + 7 * Math.min(TRACKS, trackCount[lane])) return barsAt(lane, index).map((bar) => `${lanes[lane].name}: ${bar.label}`).join("\n");
  return Math.abs(dx) > 16 ? "" : spansAt(lane, index).map((span) => `${lanes[lane].name}: ${spanWords(span)}`).join("\n");
}

function arrowWords(arrow) {
  const fate = arrow.ended === null ? "not read before the end" : `${arrow.lost ? "lost" : "read"} in #${number.format(steps[arrow.ended].number)}`;
  return `${lanes[arrow.from].name} → ${lanes[arrow.to].name}${arrow.words ? `: ${arrow.words}` : ""}\nsent in #${number.format(steps[arrow.sent].number)}, ${fate}`;
}

function showTip(words, x, y) {
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, view.width - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > view.height ? y - box.height - 8 : y + 18}px`;
}
