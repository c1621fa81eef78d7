
// main.js - The verdict, and what the parts of the page do together.

function renderVerdict(report) {
  document.title = `${report.name}: Updraft report`;
  document.getElementById("name").textContent = report.name;
  document.getElementById("file").textContent = report.request.file;
  const plan = report.plans.at(-1);
  const sweeps = plan.stages.filter((stage) => stage.kind === "sweep").length;
  const products = plan.stages.filter((stage) => stage.kind === "product").length;
  const facts = [
    [`over data, ${tensorsOf(plan, report)}`, plural(sweeps, "pass", "passes")],
    ["moved", `${shown(plan.bytes)} B/element`],
    ["computed", `${plan.flops} flop/element`],
  ];
  if (products) facts.push(["of matrices", plural(products, "product")]);
  if (report.machine) {
    const nanoseconds = (plan.bytes / report.machine.bytesPerSecond) * 1e9;
    const speed = `${(report.machine.bytesPerSecond / 1e9).toFixed(1)} GB/s, ${plural(report.machine.threads, "thread")}`;
    facts.push([`limit here (${speed})`, `${nanoseconds.toPrecision(3)} ns/element`]);
  }
  if (report.measured) {
    const { elements, ns } = report.measured;
    facts.push([`measured, ${elements.toLocaleString("en")} elements`, `${(ns / elements).toPrecision(3)} ns/element`]);
  }
  facts.push(["target", report.request.targets.join(", ")]);
  if (report.cache) facts.push(["machine code", report.cache]);
  document
    .getElementById("verdict")
    .replaceChildren(...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/** The time of each stage, as parts of a bar. */
function renderTimes(report) {
  const times = new Map();
  for (const pass of report.passes) times.set(pass.stage, (times.get(pass.stage) ?? 0) + pass.ns);
  const total = [...times.values()].reduce((sum, ns) => sum + ns, 0);
  const bar = element("div", {
    class: "bar",
    role: "img",
    "aria-label": `Compiled in ${milliseconds(total)}: ${[...times].map(([stage, ns]) => `${stage} ${milliseconds(ns)}`).join(", ")}`,
  });
  [...times].forEach(([stage, ns], at) =>
    bar.append(
      element(
        "span",
        { class: `part part-${at % 8}`, style: `flex-grow:${ns / total}`, title: `${stage}: ${milliseconds(ns)}` },
        ns / total > 0.06 ? `${stage} ${milliseconds(ns)}` : "",
      ),
    ),
  );
  document.getElementById("times").replaceChildren(element("span", { class: "dim" }, `compiled in ${milliseconds(total)}`), bar);
}

function renderCode(report) {
  let pinned = null;
  let pinnedKeys = new Set();
  const light = (key, keys, scroll, isSaid = false) => {
    source.light(keys, pinned, scroll);
    for (const pane of panes) pane.light(keys, key !== null && key === pinned, scroll);
    trail.show(key, key !== null && key === pinned, isSaid);
  };
  const callbacks = {
    focus(key, isSaid, keys = key ? [key] : []) {
      if (key === null || pinned) light(pinned, pinnedKeys, false);
      else light(key, new Set(keys), false, isSaid);
    },
    pin(key, keys = key ? [key] : []) {
      pinned = key === pinned ? null : key;
      pinnedKeys = new Set(pinned ? keys : []);
      light(pinned, pinnedKeys, true, true);
    },
    shown(pane) {
      if (pinned) pane.light(pinnedKeys, true, true);
    },
  };
  const names = report.stages.map(({ stage }) => stage);
  const last = names.at(-1);
  const first = names.includes("schedule") ? "schedule" : names[0];
  const source = new SourcePane(report, callbacks);
  const trail = new Trail(report, (stage) => panes.at(-1).show(stage));
  const panes = [...document.querySelectorAll(".stage-pane")].map(
    (pane, at) => new StagePane(report, pane, at === 0 ? first : names.includes("asm") ? "asm" : last, callbacks),
  );
}

/** A link that saves a file whose content is made when it is clicked. */
function download(name, label, type, content) {
  const link = element("a", { href: "#", download: name }, label);
  link.addEventListener("click", () => {
    link.href = URL.createObjectURL(new Blob([content()], { type }));
  });
  return link;
}

function renderReproduction(report) {
  const { command, cpu, savedAs, text } = report.request;
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(command);
    copy.textContent = "Copied";
  });
  const { indices, facts, ...data } = report;
  const link = download(`${report.name}.json`, "the document as JSON", "application/json", () => JSON.stringify(data));
  document
    .getElementById("reproduce-body")
    .replaceChildren(
      ...(savedAs
        ? [element("p", {}, "Save ", download(savedAs, `the rule as ${savedAs}`, "text/plain", () => text), " first.")]
        : []),
      element("pre", { tabindex: 0 }, element("code", {}, command)),
      copy,
      table("This compilation", ["", ""], [["updraft", report.updraft], ["CPU", cpu], ["numerics", report.numerics.mode]]),
      element("p", {}, "Programs can read this page again: it contains ", link, ". It holds code, and no weights."),
    );
}

/** Follows the system, unless the reader chooses. */
function watchTheme() {
  const button = document.getElementById("theme");
  const themes = ["system", "light", "dark"];
  let at = 0;
  button.addEventListener("click", () => {
    at = (at + 1) % themes.length;
    document.documentElement.dataset.theme = themes[at];
    button.textContent = `Theme: ${themes[at]}`;
  });
}

async function main() {
  watchTheme();
  const report = new Report(await unpacked(embedded("report")));
  renderVerdict(report);
  renderTimes(report);
  renderCode(report);
  renderPasses(report);
  renderPlans(report);
  renderNumerics(report);
  renderBehaviour(report);
  renderRun(report);
  renderReproduction(report);
  watchComparison(report);
  const other = embedded("other");
  if (other) renderComparison(report, new Report(await unpacked(other)));
  document.documentElement.dataset.ready = "true";
}

main();
