
// stages.js - The rule at a stage, and the lines that came from a line of its text.

const stageTitles = {
  ast: "syntax tree",
  updraft: "one element's update",
  schedule: "the plan",
  loops: "vector loops",
  llvm: "LLVM IR",
  asm: "assembly",
  gpu: "kernels",
  nvvm: "NVVM dialect",
  ptx: "PTX",
};

const shownLines = 30;

/** Returns the number that the most others follow closely: the first of a loop, not of its setup. */
function densest(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  let best = 0;
  let most = 0;
  let end = 0;
  for (let start = 0; start < sorted.length; ++start) {
    while (end < sorted.length && sorted[end] < sorted[start] + shownLines) ++end;
    if (end - start > most) [most, best] = [end - start, sorted[start]];
  }
  return best;
}

class StagePane {
  constructor(report, pane, stage, { focus, pin, shown }) {
    this.report = report;
    this.text = pane.querySelector(".text");
    this.callbacks = { focus, pin, shown };
    this.select = element(
      "select",
      { "aria-label": "Stage", onchange: () => this.show(this.select.value) },
      report.stages.map((one) =>
        element("option", { value: one.stage }, `${one.stage}: ${stageTitles[one.stage] ?? ""}`),
      ),
    );
    this.count = element("span", { class: "dim" });
    pane.querySelector(".pane-head").append(this.select, this.count);
    this.text.addEventListener("mouseleave", () => focus(null));
    this.show(stage);
  }

  show(stage) {
    this.stage = stage;
    this.select.value = stage;
    this.text.setAttribute("aria-label", `Stage ${stage}`);
    const { text, places } = this.report.stageText(stage);
    const lines = linesOf(text);
    this.count.textContent = plural(lines.length, "line");
    this.lines = lines.map((line, at) => {
      const keys = this.report.places[places[at] ?? 0].map((place) => place.join(":"));
      if (!keys.length) return element("div", { class: "line" }, element("code", {}, coloured(line, "code")));
      return element(
        "div",
        {
          class: "line linked",
          onmouseenter: () => this.callbacks.focus(keys[0], false, keys),
          onclick: () => this.callbacks.pin(keys[0], keys),
        },
        element("code", {}, coloured(line, "code")),
      );
    });
    this.text.replaceChildren(...this.lines);
    this.lit = [];
    this.callbacks.shown(this);
  }

  /** Lights the lines of some keys; scrolls to the first of them if `scroll`. */
  light(keys, isPinned, scroll) {
    for (const line of this.lit) line.classList.remove("lit", "pinned");
    const numbers = [...keys].flatMap((key) => this.report.linesIn(this.stage, key));
    this.lit = numbers.map((at) => this.lines[at]);
    for (const line of this.lit) line.classList.add("lit", ...(isPinned ? ["pinned"] : []));
    if (!scroll || !numbers.length) return;
    const first = this.lines[densest(numbers)];
    this.text.scrollTop = first.offsetTop - this.text.offsetTop - this.text.clientHeight / 4;
  }
}

/** Says for every stage how many lines came from a line, or why none did. */
class Trail {
  constructor(report, choose) {
    this.report = report;
    this.choose = choose;
    this.box = document.getElementById("trail");
    this.said = document.getElementById("said");
    this.show(null);
  }

  show(key, isPinned, isSaid) {
    if (!key) {
      this.box.replaceChildren(element("span", { class: "dim" }, "No line is chosen."));
      return;
    }
    const [source, line] = key.split(":").map(Number);
    const where = `${this.report.sources[source].path}:${line}${isPinned ? ", pinned" : ""}`;
    const facts = this.report.facts.get(key);
    const counts = this.report.stages.map(({ stage }) => [stage, this.report.linesIn(stage, key).length]);
    const reasons = new Map();
    if (!facts?.reason)
      for (const [stage, count] of counts)
        if (!count) {
          const reason = this.report.reason(stage, key);
          reasons.set(reason, [...(reasons.get(reason) ?? []), stage]);
        }
    const why = facts?.reason ? [facts.reason] : [...reasons].map(([reason, stages]) => `${stages.join(", ")}: ${reason}`);
    this.box.replaceChildren(
      element("strong", {}, where),
      ...(facts?.reason ? [] : counts).map(([stage, count]) =>
        element(
          "button",
          {
            type: "button",
            class: count ? "stage" : "stage none",
            title: count ? `Show ${stage}` : this.report.reason(stage, key),
            onclick: () => this.choose(stage),
          },
          `${stage} `,
          element("b", {}, count ? String(count) : "–"),
        ),
      ),
      ...why.map((reason) => element("span", { class: "why" }, reason)),
    );
    if (isSaid)
      this.said.textContent = [
        where,
        ...counts.filter(([, count]) => count).map(([stage, count]) => `${stage} ${plural(count, "line")}`),
        ...why,
      ].join("; ");
  }
}
