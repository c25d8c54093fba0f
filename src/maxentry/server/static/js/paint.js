// Drawing a map: cells, names along the sides, what is next, what failed, and where the cursor is.

import { label } from "./format.js";
import { colour } from "./scale.js";

const FONT = "12px system-ui, sans-serif";
const LINE = 15; // pixels a name needs
const ROOM = { name: 110, narrow: 64, top: 8, right: 8 };
const NARROW = 520;
export const DOTTED = 12; // pixels of a cell from which on dots tell what was measured

/** Colours of the page as it is now, for a canvas, which no style sheet reaches. */
export function inks(element) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), faint: of("--faint"), empty: of("--empty"), rule: of("--rule"), accent: of("--accent"), paper: of("--paper") };
}

/** Where the cells are on a canvas of this size: room for names at the left and below. */
export function frame(width, height, tile, context) {
  context.font = FONT;
  const most = width < NARROW ? ROOM.narrow : ROOM.name;
  const longest = (labels) => Math.min(most, Math.max(14, ...sample(labels).map((name) => context.measureText(label(name)).width)));
  const left = tile ? Math.ceil(longest(tile.row_labels)) + 10 : ROOM.narrow;
  const below = tile ? Math.ceil(Math.min(longest(tile.col_labels), 80)) + 12 : ROOM.narrow;
  return { x: left, y: ROOM.top, width: Math.max(20, width - left - ROOM.right), height: Math.max(20, height - below - ROOM.top) };
}

const sample = (labels) => labels.filter((_, k) => k % Math.ceil(labels.length / 200) === 0);

/** The left edges of cells, and the last right one, in pixels. */
function edges(starts, end, [first, size], origin, length) {
  return [...starts, end].map((at) => Math.round(origin + ((at - first) * length) / size));
}

/** The edges of all rows and columns of a tile, as the view shows them. */
export function grid(tile, view, area) {
  return {
    rows: edges(tile.row_starts, tile.rows[1], view[0], area.y, area.height),
    cols: edges(tile.col_starts, tile.cols[1], view[1], area.x, area.width),
  };
}

/** The cells. Where nothing is known the ground shows. */
export function paintCells(context, tile, places, area, scale, limits, ink) {
  context.save();
  context.beginPath();
  context.rect(area.x, area.y, area.width, area.height);
  context.clip();
  context.fillStyle = ink.empty;
  context.fillRect(area.x, area.y, area.width, area.height);
  const gap = cellSize(places) >= 12 ? 1 : 0;
  tile.values.forEach((line, i) => {
    const y = places.rows[i];
    const height = places.rows[i + 1] - y;
    line.forEach((x, j) => {
      if (x === null) return;
      context.fillStyle = colour(scale, x, limits[0], limits[1]);
      context.fillRect(places.cols[j], y, places.cols[j + 1] - places.cols[j] - gap, height - gap);
    });
  });
  context.restore();
}

/** The shorter side of a cell in pixels. */
export function cellSize(places) {
  const along = (edges) => (edges[edges.length - 1] - edges[0]) / Math.max(1, edges.length - 1);
  return Math.min(along(places.rows), along(places.cols));
}

/** Names along the left and the lower side, as many as there is room for. */
export function paintNames(context, tile, places, area, ink) {
  context.font = FONT;
  context.fillStyle = ink.faint;
  context.textBaseline = "middle";
  context.textAlign = "right";
  each(tile.row_labels, places.rows, (name, middle) => {
    context.fillText(short(context, label(name), area.x - 10), area.x - 6, middle);
  });
  const width = (places.cols[places.cols.length - 1] - places.cols[0]) / Math.max(1, tile.col_labels.length);
  const longest = Math.max(0, ...sample(tile.col_labels).map((name) => context.measureText(label(name)).width));
  const level = longest + 6 <= width;
  each(tile.col_labels, places.cols, (name, middle) => {
    context.save();
    context.translate(middle, area.y + area.height + 6);
    if (level) {
      context.textAlign = "center";
      context.textBaseline = "top";
    } else context.rotate(-Math.PI / 2);
    context.fillText(short(context, label(name), level ? width : 80), 0, 0);
    context.restore();
  });
}

function each(labels, at, draw) {
  const step = Math.max(1, Math.ceil((LINE * labels.length) / Math.max(1, at[at.length - 1] - at[0])));
  labels.forEach((name, k) => {
    const middle = (at[k] + at[k + 1]) / 2;
    if (k % step === 0) draw(name, middle);
  });
}

/** A name cut so that it fits. */
function short(context, name, width) {
  const plain = name.replace(/\s+/g, " ");
  if (context.measureText(plain).width <= width) return plain;
  let end = Math.max(1, Math.floor((plain.length * width) / context.measureText(plain).width));
  while (end > 1 && context.measureText(`${plain.slice(0, end)}…`).width > width) end -= 1;
  return `${plain.slice(0, end)}…`;
}

/** Marks on cells: dots on what was measured, rings on what is pending or next, crosses on what failed. Light on dark, so that any colour bears them. */
export function paintMarks(context, counts, places, kind) {
  counts.values.forEach((line, i) => {
    line.forEach((n, j) => {
      if (!n) return;
      const box = [places.cols[j], places.rows[i], places.cols[j + 1] - places.cols[j], places.rows[i + 1] - places.rows[i]];
      MARKS[kind](context, box);
    });
  });
}

function twice(context, path, wide = 4, thin = 2) {
  for (const [width, colour] of [[wide, "#101010"], [thin, "#ffffff"]]) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.beginPath();
    path();
    context.stroke();
  }
}

function centred([x, y, width, height]) {
  const r = Math.max(3.5, Math.min(9, Math.min(width, height) / 2 - 3));
  return [x + width / 2, y + height / 2, r];
}

const MARKS = {
  observed(context, [x, y, width, height]) {
    const r = Math.min(2, Math.min(width, height) / 8);
    twice(context, () => context.arc(x + width / 2, y + height / 2, r / 2, 0, 2 * Math.PI), 2 * r + 1, r);
  },
  pending(context, box) {
    const [x, y, r] = centred(box);
    twice(context, () => context.arc(x, y, r, 0, 2 * Math.PI));
  },
  next(context, box) {
    const [x, y, r] = centred(box);
    context.setLineDash([3, 3]);
    twice(context, () => context.arc(x, y, r, 0, 2 * Math.PI));
    context.setLineDash([]);
  },
  failed(context, box) {
    const [x, y, r] = centred(box);
    const d = 0.7 * r;
    twice(context, () => {
      context.moveTo(x - d, y - d);
      context.lineTo(x + d, y + d);
      context.moveTo(x + d, y - d);
      context.lineTo(x - d, y + d);
    });
  },
};

/** A frame around the entry where the cursor is. */
export function paintCursor(context, entry, view, area, ink) {
  const at = (k, origin, length) => origin + ((entry[k] - view[k][0]) * length) / view[k][1];
  const x = at(1, area.x, area.width);
  const y = at(0, area.y, area.height);
  const [width, height] = [Math.max(6, area.width / view[1][1]), Math.max(6, area.height / view[0][1])];
  const rect = () => context.rect(x - 1, y - 1, width + 1, height + 1);
  context.save();
  for (const [line, colour] of [[5, ink.paper], [3, ink.accent]]) {
    context.lineWidth = line;
    context.strokeStyle = colour;
    context.beginPath();
    rect();
    context.stroke();
  }
  context.restore();
}
