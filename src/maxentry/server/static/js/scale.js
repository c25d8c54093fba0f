// Colour scales, the same as those of the figures: viridis for values, oranges for uncertainty, blues for counts.

const ANCHORS = {
  value: ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  uncertainty: ["#fff5eb", "#fee6ce", "#fdd0a2", "#fdae6b", "#fd8d3c", "#f16913", "#d94801", "#a63603", "#7f2704"],
  share: ["#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b"],
};
const STEPS = 256;

const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function table(anchors) {
  const colours = anchors.map(parts);
  return Array.from({ length: STEPS }, (_, k) => {
    const at = (k / (STEPS - 1)) * (colours.length - 1);
    const low = Math.min(Math.floor(at), colours.length - 2);
    const mixed = colours[low].map((c, part) => Math.round(c + (at - low) * (colours[low + 1][part] - c)));
    return `rgb(${mixed.join(",")})`;
  });
}

const TABLES = Object.fromEntries(Object.entries(ANCHORS).map(([name, anchors]) => [name, table(anchors)]));

/** The colour of a number between two others. */
export function colour(name, x, least, greatest) {
  const share = greatest > least ? (x - least) / (greatest - least) : 0.5;
  return TABLES[name][Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1))];
}

/** Draw the scale from left to right. */
export function drawScale(canvas, name) {
  const context = canvas.getContext("2d");
  TABLES[name].forEach((colour, k) => {
    context.fillStyle = colour;
    context.fillRect((k * canvas.width) / STEPS, 0, canvas.width / STEPS + 1, canvas.height);
  });
}
