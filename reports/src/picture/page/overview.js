// The strip beside the diagram: the whole run, with roles, faults and the violation, and where the view is.

const strip = document.getElementById("overview");
const stripPen = strip.getContext("2d");
let stripImage = null;

/** Draws the whole run once; it is used until the filter, the theme or the size changes. */
function renderOverview() {
  strip.width = strip.clientWidth * ratio;
  strip.height = strip.clientHeight * ratio;
  stripImage = document.createElement("canvas");
  stripImage.width = Math.max(1, strip.width);
  stripImage.height = Math.max(1, strip.height);
  const ink = stripImage.getContext("2d");
  ink.scale(ratio, ratio);
  const width = strip.clientWidth;
  const scale = strip.clientHeight / Math.max(1, wholeHeight(), view.height);
  const column = (width - 14) / Math.max(1, columns.length);
  const y = (index) => yOf(index) * scale;
  for (const pass of [false, true]) {
    for (const span of spans) {
      if (columnOf[span.lane] < 0 || FAULTS.has(span.kind) !== pass) continue;
      const top = y(span.from);
      const bottom = span.to === null ? wholeHeight() * scale : y(span.to);
      const wide = pass || span.kind === "leading" ? 0.8 : 0.4;
      ink.fillStyle = colours[span.kind];
      ink.globalAlpha = pass ? 0.6 : 1;
      ink.fillRect(4 + (columnOf[span.lane] + (1 - wide) / 2) * column, top, column * wide, Math.max(0.7, bottom - top));
    }
  }
  ink.globalAlpha = 1;
  ink.fillStyle = colours.belief;
  for (const bar of bars) {
    if (columnOf[bar.lane] < 0) continue;
    const bottom = bar.to === null ? wholeHeight() * scale : y(bar.to);
    ink.fillRect(4 + (columnOf[bar.lane] + 0.8) * column, y(bar.from), Math.max(1, column * 0.2), Math.max(0.7, bottom - y(bar.from)));
  }
  ink.fillStyle = colours.fault;
  for (const index of rows) if (steps[index].kind === "fault") ink.fillRect(width - 7, y(index) - 0.5, 4, 1);
  if (violationAt >= 0) ink.fillRect(0, violationY() * scale - 1, width, 2);
}

function drawOverview() {
  if (!stripImage) return;
  stripPen.setTransform(1, 0, 0, 1, 0, 0);
  stripPen.clearRect(0, 0, strip.width, strip.height);
  stripPen.drawImage(stripImage, 0, 0);
  stripPen.scale(ratio, ratio);
  const whole = Math.max(wholeHeight(), view.height);
  const top = (view.top / whole) * strip.clientHeight;
  const height = Math.max(8, (view.height / whole) * strip.clientHeight);
  stripPen.fillStyle = colours.accent;
  stripPen.globalAlpha = 0.14;
  stripPen.fillRect(0, top, strip.clientWidth, height);
  stripPen.globalAlpha = 1;
  stripPen.strokeStyle = colours.accent;
  stripPen.strokeRect(0.5, top + 0.5, strip.clientWidth - 1, height - 1);
  if (selected >= 0) {
    stripPen.fillStyle = colours.text;
    stripPen.fillRect(0, (yOf(selected) / whole) * strip.clientHeight - 0.5, strip.clientWidth, 1);
  }
}

function initOverview(scroller) {
  const go = (event) => {
    const share = event.offsetY / strip.clientHeight;
    scroller.scrollTop = share * Math.max(wholeHeight(), view.height) - view.height / 2;
  };
  strip.addEventListener("pointerdown", (event) => {
    strip.setPointerCapture(event.pointerId);
    go(event);
  });
  strip.addEventListener("pointermove", (event) => { if (event.buttons & 1) go(event); });
  strip.addEventListener("wheel", (event) => { scroller.scrollTop += event.deltaY; event.preventDefault(); }, { passive: false });
}
