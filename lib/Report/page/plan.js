
// plan.js - The plan as a picture: a lane for each stream, as wide as its bytes, and a column for
// each stage, from left to right.

const laneHeight = 30;
const columnWidth = 118;
const labelWidth = 230;
const headHeight = 64;
const pixelsPerByte = 2.5;

/** Returns the streams that a stage reads and writes. */
function accessesOf(stage) {
  if (stage.kind === "product") return { reads: [stage.left, stage.right], writes: stage.makes };
  const reduced = (stage.reduces ?? [])
    .filter((one) => one.id)
    .map((one) => ({ id: one.id, text: one.text, bytes: 8, over: "reduced" }));
  return { reads: stage.reads ?? [], writes: [...(stage.writes ?? []), ...(stage.makes ?? []), ...reduced] };
}

function titleOf(stage) {
  if (stage.kind === "sweep") return [`sweep ${stage.number}`, `over every ${stage.over}`, `${stage.flops} flop`];
  if (stage.kind === "product")
    return [`product ${stage.number}`, `${stage.rows} × ${stage.columns}`, stage.saved ? "symmetric" : "general"];
  if (stage.kind === "call") return [`call ${stage.number}`, stage.function, stage.onHost ? "on the host" : stage.shape];
  return ["prologue", `${plural(stage.scalars.length, "scalar")}`, "in f64"];
}

function lanesOf(plan) {
  const lanes = new Map(plan.streams.map((stream) => [stream.id, stream]));
  for (const stage of plan.stages) {
    const { reads, writes } = accessesOf(stage);
    for (const stream of [...reads, ...writes]) if (!lanes.has(stream.id)) lanes.set(stream.id, stream);
  }
  return lanes;
}

function bytesOf(stream) {
  const unit = stream.over === "element" ? "element" : stream.over.replaceAll("_", " ");
  return `${shown(stream.bytes)} B / ${unit}`;
}

function drawPlan(plan) {
  const stages = plan.stages.filter((stage) => stage.kind !== "prologue" || stage.scalars.length);
  const lanes = lanesOf(plan);
  const width = labelWidth + stages.length * columnWidth;
  const height = headHeight + lanes.size * laneHeight + 8;
  const y = new Map([...lanes.keys()].map((id, at) => [id, headHeight + (at + 0.5) * laneHeight]));
  const picture = svg("svg", {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Plan ${plan.name}: ${stages.map((stage) => titleOf(stage).join(" ")).join(", then ")}. The table below has the same content.`,
  });
  for (const [id, stream] of lanes) {
    const isNamed = plan.streams.some((one) => one.id === id);
    picture.append(
      svg("line", {
        class: isNamed ? "lane" : "lane temporary",
        x1: labelWidth,
        x2: width,
        y1: y.get(id),
        y2: y.get(id),
        "stroke-width": Math.max(1.5, Math.min(stream.bytes, 8) * pixelsPerByte),
      }),
      svg("text", { x: 0, y: y.get(id) - 2, class: "lane-name" }, isNamed ? stream.id : stream.text),
      svg("text", { x: 0, y: y.get(id) + 11, class: "lane-bytes" }, `${stream.type ?? ""} ${bytesOf(stream)}`),
    );
  }
  stages.forEach((stage, at) => {
    const left = labelWidth + at * columnWidth + 6;
    const center = left + columnWidth / 2 - 6;
    const group = svg("g", { class: `stage ${stage.kind}` });
    group.append(svg("rect", { x: left, y: 2, width: columnWidth - 12, height: height - 4, rx: 6 }));
    titleOf(stage).forEach((line, row) =>
      group.append(svg("text", { x: center, y: 18 + row * 15, class: row ? "small" : "" }, line)),
    );
    if (stage.when) group.append(svg("title", {}, stage.when));
    const { reads, writes } = accessesOf(stage);
    const read = new Set(reads.map((stream) => stream.id));
    const written = new Set(writes.map((stream) => stream.id));
    for (const [id] of lanes) {
      if (read.has(id)) group.append(svg("circle", { cx: center - 14, cy: y.get(id), r: 6, class: "read" }));
      if (written.has(id)) {
        const top = y.get(id);
        group.append(
          svg("path", { d: `M${center + 8} ${top - 7} L${center + 20} ${top} L${center + 8} ${top + 7} Z`, class: "write" }),
        );
      }
    }
    picture.append(group);
  });
  return element(
    "figure",
    { class: "picture" },
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Picture of ${plan.name}` }, picture),
    element("figcaption", {}, "● reads, ▶ writes. A lane is as wide as its bytes; dashed lanes are temporary."),
  );
}

function describeStage(stage) {
  const { reads, writes } = accessesOf(stage);
  const names = (streams) => streams.map((stream) => stream.text).join(", ");
  const work =
    stage.kind === "sweep"
      ? `${stage.flops} flop, ${plural(stage.divisions, "division")}, ${plural(stage.roots, "root")}`
      : stage.kind === "product"
        ? `${stage.flops} flop${stage.saved ? `; symmetry saves ${stage.saved}` : ""}${stage.bf16 ? "; bf16 where the target multiplies it" : ""}`
        : stage.kind === "call"
          ? `${stage.function}${stage.onHost ? ", on the host" : ""}`
          : `${stage.flops} flop in f64`;
  const reduced = (stage.reduces ?? []).map((one) => one.text);
  const written = [names(writes.filter((stream) => stream.over !== "reduced")), ...reduced].filter(Boolean).join(", ");
  return [titleOf(stage).slice(0, 2).join(", "), names(reads), written, work, stage.when ?? ""];
}

/** Evaluates a cost such as "2 * rows * columns * rows" for a shape. */
function costFor(text, sides) {
  return text.split(" * ").reduce((product, factor) => product * (sides[factor] ?? Number(factor)), 1);
}

/** The cost of products for a shape that the reader chooses. */
function productCosts(plan) {
  const products = plan.stages.filter((stage) => stage.kind === "product");
  if (!products.length) return null;
  const output = element("output", { for: "rows columns" });
  const input = (id, value) =>
    element("input", { id: `${plan.name}-${id}`, type: "number", min: 1, value, oninput: () => update() });
  const rows = input("rows", 1024);
  const columns = input("columns", 4096);
  const update = () => {
    const [m, n] = [Number(rows.value), Number(columns.value)];
    const sides = { rows: m, columns: n, chosen: Math.ceil(Math.min(m, n) / 4) };
    const total = products.reduce((sum, stage) => sum + costFor(stage.flops, sides), 0);
    const saved = products.filter((stage) => stage.saved).reduce((sum, stage) => sum + costFor(stage.saved, sides), 0);
    output.textContent = `${plural(products.length, "product")}: ${shown(total / 1e9)} Gflop a step; symmetry saves ${shown(saved / 1e9)} Gflop.`;
  };
  update();
  return element("p", { class: "costs" }, "For a matrix of ", rows, " rows and ", columns, " columns, ", output);
}

function renderPlans(report) {
  const body = document.getElementById("plan-body");
  body.replaceChildren();
  for (const plan of report.plans) {
    const isMatrix = plan.tensors === "matrix";
    body.append(
      element("h3", {}, `${plan.name}${report.plans.length > 1 ? (isMatrix ? ", for matrices" : ", for vectors") : ""}`),
      drawPlan(plan),
      productCosts(plan) ?? "",
      element("ul", {}, plan.notFused.map((why) => element("li", {}, `Not fused: ${why}.`))),
      element(
        "details",
        {},
        element("summary", {}, "The same as a table"),
        table(`Stages of ${plan.name}`, ["stage", "reads", "writes", "does", "in steps"], plan.stages.map(describeStage)),
      ),
    );
  }
}
