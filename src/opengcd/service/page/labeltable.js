/** A table of labels: CSV with the columns file and label, as `opengcd teach --labels` takes it. */

const FILES = ["file", "file_name", "filename", "path"];

/** The cells of CSV text, row by row. @param {string} text */
function rowsOf(text) {
  const mark = [",", ";", "\t"].sort(
    (a, b) => text.split("\n")[0].split(b).length - text.split("\n")[0].split(a).length,
  )[0];
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const [sign, row] = [text[i], rows[rows.length - 1]];
    if (quoted && sign === '"' && text[i + 1] === '"') {
      row[row.length - 1] += '"';
      i += 1;
    } else if (sign === '"') quoted = !quoted;
    else if (!quoted && sign === mark) row.push("");
    else if (!quoted && sign === "\n") rows.push([""]);
    else row[row.length - 1] += sign;
  }
  return rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row.some(Boolean));
}

/**
 * How a table labels files: by their paths, or by their names alone where these are unique.
 * @param {string} text
 * @param {string} name of the table
 * @returns {(path: string) => string|null}
 */
export function labelsOf(text, name) {
  const [head = [], ...rows] = rowsOf(text.replace(/^\ufeff/, ""));
  const columns = head.map((cell) => cell.toLowerCase());
  const file = columns.findIndex((column) => FILES.includes(column));
  const label = columns.indexOf("label");
  if (file < 0 || label < 0)
    throw new Error(`${name} has no column “${file < 0 ? "file" : "label"}”; its first line names them.`);
  /** @type {Map<string, string>} */
  const labels = new Map();
  rows.forEach((row, i) => {
    const path = (row[file] ?? "").replaceAll("\\", "/").replace(/^\.\//, "");
    if (!path || !row[label]) throw new Error(`Row ${i + 2} of ${name} lacks a file or a label.`);
    if ((labels.get(path) ?? row[label]) !== row[label])
      throw new Error(`${name} gives ${path} the labels “${labels.get(path)}” and “${row[label]}”; keep one of them.`);
    labels.set(path, row[label]);
  });
  return (path) => {
    // The table may stand beside the images or above them: the longest end of the path counts.
    for (let rest = path; ; rest = rest.slice(rest.indexOf("/") + 1)) {
      const found = labels.get(rest);
      if (found !== undefined) return found;
      if (!rest.includes("/")) return null;
    }
  };
}
