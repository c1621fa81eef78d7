
// text.js - Elements, numbers, and the colours of code.

function setAll(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return made;
}

function element(tag, attributes = {}, ...children) {
  return setAll(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return setAll(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A table. Numbers are set to the right. */
function table(caption, heads, rows) {
  const cell = (value) =>
    element(
      "td",
      typeof value === "number" ? { class: "number" } : {},
      value instanceof Node ? value : shown(value),
    );
  return element(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell)))),
    ),
  );
}

function shown(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value ?? "");
  return String(Number(value.toPrecision(6)));
}

function milliseconds(nanoseconds) {
  const ms = nanoseconds / 1e6;
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(1)} ms`;
}

function plural(count, noun, nouns = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
}

const number = ["number", /\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/];
const grammars = {
  rule: [
    ["comment", /\/\/.*/],
    ["string", /"(?:\\.|[^"\\])*"?/],
    [
      "keyword",
      /\b(?:rule|transform|fn|let|next|state|static|update|finish|require|else|if|then|when|over|stored|repeat|for|in|import|skip|hold)\b/,
    ],
    number,
  ],
  python: [
    ["comment", /#.*/],
    ["string", /"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?/],
    ["keyword", /@[\w.]+|\b(?:def|return|if|else|for|in|import|from|lambda|not|and|or|with|as)\b/],
    number,
  ],
  code: [
    ["comment", /\/\/.*|;.*/],
    ["string", /"(?:\\.|[^"\\])*"?/],
    ["name", /[%@!][\w.$#-]+/],
    ["keyword", /^\s*[.\w]+(?=\s)/],
  ],
};

/** Returns a line of code as text and coloured spans. */
function coloured(line, grammar) {
  const rules = grammars[grammar];
  const pattern = new RegExp(rules.map(([, rule]) => `(${rule.source})`).join("|"), "g");
  const parts = [];
  let end = 0;
  for (const match of line.matchAll(pattern)) {
    if (match.index > end) parts.push(line.slice(end, match.index));
    const kind = rules[match.slice(1).findIndex((group) => group !== undefined)][0];
    parts.push(element("span", { class: `c-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  if (end < line.length) parts.push(line.slice(end));
  return parts;
}

function linesOf(text) {
  return text.replace(/\n$/, "").split("\n");
}
