/** "All like this": the images of a group that are nearer to one image than to what the group is otherwise. */

import { api } from "./api.js";

const LOOKED_AT = 500;

/**
 * Order candidates from the most alike, and say how many are alike.
 *
 * An image is like this one where it is nearer to it than to the reference. One that is missing from the reference's list
 * is farther from it than all that are in the list.
 * @param {import("./types.d.ts").Neighbour[]} near neighbours of this image
 * @param {number} reference
 * @param {import("./types.d.ts").Neighbour[]} beside neighbours of the reference
 * @param {number} group
 * @returns {{ids: number[], alike: number}}
 */
function alike(near, reference, beside, group) {
  const other = new Map(beside.map(({ id, distance }) => [id, distance]));
  other.set(reference, 0);
  const farthest = beside.at(-1)?.distance ?? Infinity;
  /** @param {import("./types.d.ts").Neighbour} neighbour */
  const margin = ({ id, distance }) => distance - (other.get(id) ?? farthest);
  const candidates = near.filter((neighbour) => neighbour.group === group).sort((a, b) => margin(a) - margin(b));
  return { ids: candidates.map(({ id }) => id), alike: candidates.filter((one) => margin(one) < 0).length };
}

/**
 * @param {number} item
 * @param {number} group
 * @param {[number, number]} ends the group's most typical and its oddest image; the one farther away is the reference
 */
export async function likeThis(item, group, ends) {
  const near = await api.neighbours(item, LOOKED_AT);
  /** @param {number} id */
  const far = (id) => (id === item ? -1 : (near.find((one) => one.id === id)?.distance ?? Infinity));
  const [typical, odd] = ends;
  const reference = far(typical) >= far(odd) ? typical : odd;
  const found = alike(near, reference, await api.neighbours(reference, LOOKED_AT), group);
  return { ids: [item, ...found.ids], alike: found.alike + 1 };
}
