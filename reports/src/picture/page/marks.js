// Colours, hatchings and the marks of steps. Nothing is told by colour alone: roles differ in width and texture, kinds
// of steps in shape.

const canvas = document.getElementById("canvas");
const pen = canvas.getContext("2d");
let colours = {};
let textures = {};
let ratio = 1;

const COLOURS = [
  "back", "text", "muted", "faint", "line", "stripe", "select", "accent", "leading", "following", "synchronising",
  "looking", "connected", "disconnected", "expired", "down", "cut", "paused", "belief", "fault", "mending", "arrow",
  "ping", "lost", "packet", "server", "timer", "program",
];

/** Reads the colours of the theme, and makes the textures from them. */
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of COLOURS) colours[name] = style.getPropertyValue(`--${name}`).trim();
  ratio = window.devicePixelRatio || 1;
  textures = {
    down: hatching(colours.down, 6, ["rising", "falling"]),
    cut: hatching(colours.cut, 6, ["rising"]),
    paused: hatching(colours.paused, 5, ["level"]),
    looking: hatching(colours.looking, 5, ["dot"]),
    synchronising: hatching(colours.synchronising, 6, ["falling"]),
    disconnected: hatching(colours.disconnected, 5, ["dot"]),
    expired: hatching(colours.expired, 5, ["level", "falling"]),
  };
}

function hatching(colour, size, strokes) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = size * ratio;
  const ink = tile.getContext("2d");
  ink.scale(ratio, ratio);
  ink.strokeStyle = ink.fillStyle = colour;
  ink.lineWidth = 1.2;
  const line = (x1, y1, x2, y2) => { ink.beginPath(); ink.moveTo(x1, y1); ink.lineTo(x2, y2); ink.stroke(); };
  for (const stroke of strokes) {
    // Diagonals go on into the neighbouring tiles, so that no gaps are seen at the corners.
    if (stroke === "rising") for (const shift of [-size, 0, size]) line(shift - 1, size + 1, shift + size + 1, -1);
    if (stroke === "falling") for (const shift of [-size, 0, size]) line(shift - 1, -1, shift + size + 1, size + 1);
    if (stroke === "level") line(0, size / 2, size, size / 2);
    if (stroke === "dot") ink.fillRect(size / 2 - 0.9, size / 2 - 0.9, 1.8, 1.8);
  }
  const pattern = pen.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

// The width of a role's band, and whether it is full, textured, or only an outline.
const BANDS = {
  leading: { width: 18, fill: "solid" },
  following: { width: 8, fill: "solid" },
  synchronising: { width: 10, fill: "texture" },
  looking: { width: 12, fill: "texture" },
  connected: { width: 8, fill: "solid" },
  disconnected: { width: 10, fill: "texture" },
  expired: { width: 12, fill: "texture" },
  down: { width: 30, fill: "texture" },
  cut: { width: 30, fill: "texture" },
  paused: { width: 30, fill: "texture" },
};

/** Draws a band around the middle `x` from `top` to `bottom`. */
function drawBand(ink, kind, x, top, bottom, widest = 30) {
  const { width: wish, fill } = BANDS[kind];
  const width = Math.min(wish, widest);
  const left = Math.round(x - width / 2);
  const height = Math.max(1, bottom - top);
  if (fill === "solid") {
    ink.fillStyle = colours[kind];
    ink.fillRect(left, top, width, height);
    return;
  }
  if (FAULTS.has(kind)) {
    ink.globalAlpha = 0.14;
    ink.fillStyle = colours[kind];
    ink.fillRect(left, top, width, height);
    ink.globalAlpha = 1;
  } else {
    ink.fillStyle = colours.back;
    ink.fillRect(left, top, width, height);
  }
  ink.fillStyle = textures[kind];
  ink.fillRect(left, top, width, height);
  ink.strokeStyle = colours[kind];
  ink.lineWidth = 1;
  ink.strokeRect(left + 0.5, top + 0.5, width - 1, Math.max(1, height - 1));
}

/** Draws the mark of a step: a shape per kind. `size` is half its width. */
function drawMark(ink, kind, x, y, size) {
  ink.beginPath();
  switch (kind) {
    case "packet":
      ink.arc(x, y, size, 0, 2 * Math.PI);
      break;
    case "server":
      ink.rect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
      break;
    case "timer":
      ink.moveTo(x - size, y - size);
      ink.lineTo(x + size, y - size);
      ink.lineTo(x - size, y + size);
      ink.lineTo(x + size, y + size);
      ink.closePath();
      break;
    case "program":
      polygon(ink, x, y, size * 1.3, 4);
      break;
    default:
      ink.arc(x, y, size * 1.5, 0, 2 * Math.PI);
  }
  ink.fillStyle = colours[kind];
  ink.strokeStyle = colours.back;
  ink.lineWidth = 1.5;
  ink.stroke();
  ink.fill();
  if (kind === "fault" || kind === "mending") drawSign(ink, kind, x, y, size);
}

function polygon(ink, x, y, radius, corners) {
  for (let corner = 0; corner < corners; corner++) {
    const angle = (2 * Math.PI * corner) / corners - Math.PI / 2;
    ink.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  ink.closePath();
}

/** A cross for a fault, a plus for its end. */
function drawSign(ink, kind, x, y, size) {
  const reach = size * 0.75;
  ink.strokeStyle = colours.back;
  ink.lineWidth = 1.8;
  ink.beginPath();
  if (kind === "fault") cross(ink, x, y, reach);
  else {
    ink.moveTo(x - reach, y);
    ink.lineTo(x + reach, y);
    ink.moveTo(x, y - reach);
    ink.lineTo(x, y + reach);
  }
  ink.stroke();
}

function cross(ink, x, y, reach) {
  ink.moveTo(x - reach, y - reach);
  ink.lineTo(x + reach, y + reach);
  ink.moveTo(x + reach, y - reach);
  ink.lineTo(x - reach, y + reach);
}
