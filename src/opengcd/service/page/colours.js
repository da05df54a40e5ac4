/** A colour for each group: neighbours in the list get hues far apart, alike in lightness in each theme. */

const GOLDEN = 137.508;

/** @param {number} place @param {boolean} dark */
function colour(place, dark) {
  const hue = (190 + place * GOLDEN) % 360;
  return `oklch(${dark ? 76 : 58}% ${place % 2 ? 0.12 : 0.15} ${hue.toFixed(1)})`;
}

/**
 * Colours of groups by their number: new ones are coloured, the rest is grey.
 * @param {import("./types.d.ts").Group[]} groups @param {boolean} dark
 * @returns {Map<number, string>}
 */
export function groupColours(groups, dark) {
  const places = groups
    .filter((group) => group.kind === "novel")
    .map((group) => group.id)
    .sort((a, b) => a - b);
  const grey = dark ? "oklch(58% 0 0)" : "oklch(72% 0 0)";
  return new Map(
    groups.map((group) => [group.id, group.kind === "novel" ? colour(places.indexOf(group.id), dark) : grey]),
  );
}
