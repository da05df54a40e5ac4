/**
 * What a review took: the actions of this session, counted as `opengcd.bench.reviewer` counts those of the simulated reviewer.
 *
 * Naming, joining and confirming a group are one action each, even where one key does two of them. Moving or removing is
 * one, and one more for each image that was selected. Answering a question is one.
 */

const PLACE = "opengcd.actions";

/** @returns {Object<string, number>} */
export function tally() {
  return JSON.parse(sessionStorage.getItem(PLACE) ?? "{}");
}

/** @param {Object<string, number>} kinds */
export function add(kinds) {
  const counts = tally();
  for (const [kind, n] of Object.entries(kinds)) if (n) counts[kind] = (counts[kind] ?? 0) + n;
  sessionStorage.setItem(PLACE, JSON.stringify(counts));
}

export const total = () => Object.values(tally()).reduce((sum, n) => sum + n, 0);
