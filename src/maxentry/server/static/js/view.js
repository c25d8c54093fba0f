// Which rows and columns a map shows. A side is [first, size]: `size` rows (or columns) from the first on.

export const LEAST = 4; // rows or columns that stay in sight, where there are as many

/** All of the matrix. */
export const whole = (shape) => shape.map((m) => [0, m]);

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

/** A side moved and resized so that it lies within m. */
export function within([first, size], m) {
  const fitting = clamp(Math.round(size), Math.min(LEAST, m), m);
  return [clamp(Math.round(first), 0, m - fitting), fitting];
}

/** Zoom by a factor (below 1: closer), keeping the point `at` (row, column) where it is. */
export function zoomed(view, shape, factor, at) {
  return view.map(([first, size], k) => {
    const wanted = factor < 1 ? Math.floor(size * factor) : Math.ceil(size * factor);
    const fitting = clamp(wanted, Math.min(LEAST, shape[k]), shape[k]);
    return within([at[k] - ((at[k] - first) * fitting) / size, fitting], shape[k]);
  });
}

/** Move by so many rows and columns. */
export const moved = (view, shape, by) => view.map(([first, size], k) => within([first + by[k], size], shape[k]));

/** The smallest move after which an entry is in sight. */
export function showing(view, shape, entry) {
  return view.map(([first, size], k) => {
    const x = entry[k];
    return within([x < first ? x : x >= first + size ? x - size + 1 : first, size], shape[k]);
  });
}

/** The number of the cell that holds x, of cells that begin at these places. */
export function cellOf(starts, x) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= x) low = middle;
    else high = middle - 1;
  }
  return low;
}
