/** When two names are the same, by the rule of `workspace/names.py`: case, spaces, hyphens and underscores do not count. */

const SEPARATORS = /[\s_\-\u2010-\u2015\u2212]+/g;
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** What is compared of a name. @param {string} name */
export function nameKey(name) {
  const looks = name.replace(INVISIBLE, "").normalize("NFKC").trim().toUpperCase().toLowerCase();
  return looks.replace(SEPARATORS, "") || looks;
}

/**
 * The one that has a name: in this spelling, or else the first in another one.
 * @template T
 * @param {string} name
 * @param {T[]} ones
 * @param {(one: T) => string} nameOf
 * @returns {T|undefined}
 */
export function withName(name, ones, nameOf) {
  const key = nameKey(name);
  return ones.find((one) => nameOf(one) === name) ?? ones.find((one) => nameKey(nameOf(one)) === key);
}

/**
 * What is missing at the end of a text to make it a name; null if the name does not begin so.
 * @param {string} text
 * @param {string} name
 */
export function ending(text, name) {
  const key = nameKey(text);
  if (!key || !nameKey(name).startsWith(key)) return null;
  const cuts = Array.from({ length: name.length }, (_, i) => i + 1).filter((i) => nameKey(name.slice(0, i)) === key);
  if (!cuts.length) return null;
  const separated = /[\s_-]$/.test(text);
  return name.slice(separated ? cuts[cuts.length - 1] : cuts[0]);
}
