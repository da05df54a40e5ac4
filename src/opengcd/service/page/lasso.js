/** Geometry of the map: which points a line around them holds. */

/**
 * Whether a point is inside a closed line: a ray from it crosses the line an odd number of times.
 * @param {number} x @param {number} y @param {[number, number][]} line
 */
function inside(x, y, line) {
  let odd = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [xi, yi] = line[i];
    const [xj, yj] = line[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

/**
 * Places of the points inside a line.
 * @param {ArrayLike<number>} xs @param {ArrayLike<number>} ys @param {[number, number][]} line
 */
export function enclosed(xs, ys, line) {
  const found = [];
  for (let i = 0; i < xs.length; i++) if (inside(xs[i], ys[i], line)) found.push(i);
  return found;
}
