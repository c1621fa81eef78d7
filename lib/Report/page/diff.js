
// diff.js - Differences between two texts.

/** Numbers of values differ after a pass where nothing else does. */
function withoutNumbers(line) {
  return line
    .replace(/%([A-Za-z]\w*?)?_?\d+\b/g, "%$1")
    .replace(/![\d]+/g, "!")
    .replace(/LBB\d+_\d+/g, "LBB");
}

const mostDifferences = 2000;

/**
 * Returns [kind, line] for each line, with kind " ", "-" or "+"; null if too many lines differ.
 * Numbers of values are ignored.
 */
function difference(before, after) {
  const a = before.map(withoutNumbers);
  const b = after.map(withoutNumbers);
  const least = Math.min(a.length, b.length);
  let start = 0;
  while (start < least && a[start] === b[start]) ++start;
  let end = 0;
  while (end < least - start && a[a.length - 1 - end] === b[b.length - 1 - end]) ++end;
  const isSame = (x, y) => a[start + x] === b[start + y];
  const steps = shortestEdit(a.length - start - end, b.length - start - end, isSame);
  if (!steps) return null;
  const lines = after.slice(0, start).map((line) => [" ", line]);
  let x = start;
  let y = start;
  for (const kind of steps) {
    lines.push([kind, kind === "-" ? before[x] : after[y]]);
    if (kind !== "+") ++x;
    if (kind !== "-") ++y;
  }
  return lines.concat(after.slice(after.length - end).map((line) => [" ", line]));
}

/** Myers's greedy algorithm. Returns the kinds of the lines in order. */
function shortestEdit(n, m, isSame) {
  if (Math.abs(n - m) > mostDifferences) return null;
  let furthest = new Map([[1, 0]]);
  const rows = [];
  for (let d = 0; d <= Math.min(n + m, mostDifferences); ++d) {
    rows.push(furthest);
    const row = new Map();
    for (let k = -d; k <= d; k += 2) {
      let x = stepsDown(furthest, k, d) ? furthest.get(k + 1) : furthest.get(k - 1) + 1;
      while (x < n && x - k < m && isSame(x, x - k)) ++x;
      row.set(k, x);
      if (x >= n && x - k >= m) return pathTo(rows, n, m);
    }
    furthest = row;
  }
  return null;
}

/** Whether the furthest path on diagonal `k` ends with an added line. */
function stepsDown(furthest, k, d) {
  return k === -d || (k !== d && furthest.get(k - 1) < furthest.get(k + 1));
}

function pathTo(rows, n, m) {
  const kinds = [];
  let x = n;
  let y = m;
  for (let d = rows.length - 1; d >= 0; --d) {
    const k = x - y;
    const isDown = stepsDown(rows[d], k, d);
    const fromX = d === 0 ? 0 : isDown ? rows[d].get(k + 1) : rows[d].get(k - 1);
    const fromY = d === 0 ? 0 : fromX - (isDown ? k + 1 : k - 1);
    const startX = d === 0 || isDown ? fromX : fromX + 1;
    for (; x > startX; --x) kinds.push(" ");
    if (d > 0) kinds.push(isDown ? "+" : "-");
    x = fromX;
    y = fromY;
  }
  return kinds.reverse();
}

const contextLines = 3;

/** Shows a difference with some lines around each change. */
function renderDifference(lines) {
  const isShown = new Array(lines.length).fill(false);
  lines.forEach(([kind], at) => {
    if (kind === " ") return;
    const last = Math.min(lines.length - 1, at + contextLines);
    for (let i = Math.max(0, at - contextLines); i <= last; ++i) isShown[i] = true;
  });
  const names = { "+": "added", "-": "removed", " ": "same" };
  const rows = [];
  let left = 0;
  const skip = () => {
    if (left) rows.push(element("div", { class: "skipped" }, `${plural(left, "line")} unchanged`));
    left = 0;
  };
  lines.forEach(([kind, line], at) => {
    if (!isShown[at]) return void ++left;
    skip();
    rows.push(element("div", { class: names[kind] }, element("code", {}, `${kind} ${line}`)));
  });
  skip();
  return element("div", { class: "diff text", tabindex: 0, role: "region", "aria-label": "Difference" }, rows);
}

/** Shows what changed from one text to another; the second alone if they differ too much. */
function renderChange(before, after, what) {
  const found = difference(linesOf(before), linesOf(after));
  if (!found) {
    const all = linesOf(after).map((line) => [" ", line]);
    const rows = all.map(([, line]) => element("div", { class: "same" }, element("code", {}, line)));
    return [
      element("p", {}, `${what} rewrote most lines. The text after it:`),
      element("div", { class: "diff text", tabindex: 0, role: "region", "aria-label": "Text" }, rows),
    ];
  }
  const count = (kind) => found.filter(([one]) => one === kind).length;
  const summary = `${plural(count("+"), "line")} added, ${plural(count("-"), "line")} removed; numbers of values are ignored.`;
  return [element("p", {}, summary), renderDifference(found)];
}

function passEntry(report, pass) {
  const title = [
    element("b", {}, pass.pass),
    element("span", { class: "dim" }, ` ${pass.stage}, ${milliseconds(pass.ns)}`),
  ];
  if (!pass.changed) return element("li", { class: "unchanged" }, title);
  const text = report.texts[pass.text].text;
  const details = element("details", {}, element("summary", {}, title));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const before = pass.after === undefined ? "" : report.texts[report.passes[pass.after].text].text;
    details.append(...renderChange(before, text, "The pass"));
  });
  return element("li", {}, details);
}

/** Lists the passes; those in a row that changed nothing are folded. */
function renderPasses(report) {
  const list = element("ol", { class: "passes" });
  let folded = [];
  const fold = () => {
    if (folded.length)
      list.append(
        element(
          "li",
          {},
          element(
            "details",
            { class: "folded" },
            element("summary", { class: "dim" }, `${plural(folded.length, "pass", "passes")} changed nothing`),
            element("ul", {}, folded),
          ),
        ),
      );
    folded = [];
  };
  for (const pass of report.passes) {
    const entry = passEntry(report, pass);
    if (!pass.changed) {
      folded.push(entry);
      continue;
    }
    fold();
    list.append(entry);
  }
  fold();
  document.getElementById("pass-list").replaceChildren(list);
}
