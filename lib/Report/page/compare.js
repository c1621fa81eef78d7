
// compare.js - Two reports beside each other: what changed.

/** Returns rows of what a report says, by name. */
function factsOf(report) {
  const facts = new Map();
  const add = (name, value) => facts.set(name, shown(value));
  add("updraft", report.updraft);
  add("rule", report.name);
  add("target", report.request.targets.join(", "));
  add("CPU", report.request.cpu);
  add("numerics", report.numerics.mode);
  for (const one of report.statics) add(`static ${one.name}`, one.value);
  for (const one of report.hypers) add(`default ${one.name}`, one.default);
  for (const one of report.numerics.streams) add(`${one.stream} stored as`, one.stored);
  for (const plan of report.plans) {
    const name = tensorsOf(plan, report);
    const count = (kind) => plan.stages.filter((stage) => stage.kind === kind).length;
    add(`${name}: passes over data`, count("sweep"));
    add(`${name}: bytes per element`, plan.bytes);
    add(`${name}: flops per element`, plan.flops);
    add(`${name}: products`, count("product"));
    add(`${name}: calls`, count("call"));
    add(`${name}: not fused`, plan.notFused.join("; "));
    const scalars = plan.stages.filter((stage) => stage.kind === "prologue").flatMap((stage) => stage.scalars);
    add(`${name}: hoisted`, scalars.map((scalar) => scalar.formula).join("; "));
  }
  for (const { stage, text } of report.stages) add(`lines of ${stage}`, linesOf(report.texts[text].text).length);
  return facts;
}

function renderComparison(report, other) {
  const body = document.getElementById("compare-body");
  const here = factsOf(report);
  const there = factsOf(other);
  const rows = [];
  for (const name of new Set([...there.keys(), ...here.keys()]))
    if (here.get(name) !== there.get(name)) rows.push([name, there.get(name) ?? "–", here.get(name) ?? "–"]);
  const change = element("div");
  const texts = (one, what) =>
    what === "rule" ? one.sources[0].text : (one.stageText?.(what)?.text ?? "");
  const common = ["rule", ...report.stages.map(({ stage }) => stage).filter((stage) => other.stageText(stage))];
  const select = element("select", {
    id: "compare-stage",
    onchange: () => change.replaceChildren(...renderChange(texts(other, select.value), texts(report, select.value), "The other report")),
  });
  select.append(...common.map((stage) => element("option", { value: stage }, stage)));
  body.replaceChildren(
    rows.length
      ? table(`What changed from ${other.name} (${other.request.file}) to ${report.name} (${report.request.file})`, ["", "before", "now"], rows)
      : element("p", {}, "The reports say the same, except for times."),
    element("p", {}, element("label", { for: "compare-stage" }, "Difference of "), select),
    change,
  );
  select.dispatchEvent(new Event("change"));
}

/** Reads a page or a document that the reader chose. */
async function readReport(file) {
  const text = await file.text();
  const isPage = text.trimStart().startsWith("<");
  const data = isPage ? embedded("report", new DOMParser().parseFromString(text, "text/html")) : JSON.parse(text);
  if (data?.format !== 1) throw new Error("it has no member format that is 1");
  return new Report(await unpacked(data));
}

function watchComparison(report) {
  const input = document.getElementById("other-file");
  input.addEventListener("change", async () => {
    if (!input.files.length) return;
    try {
      renderComparison(report, await readReport(input.files[0]));
    } catch (error) {
      document.getElementById("compare-body").replaceChildren(
        element("p", { class: "error" }, `${input.files[0].name} is not a report of Updraft: ${error.message}`),
      );
    }
  });
}
