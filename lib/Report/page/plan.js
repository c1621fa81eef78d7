
// plan.js - The plan as a picture: a lane for each stream, as wide as its bytes, and a column for
// each stage, from left to right.

const laneHeight = 30;
const columnWidth = 124;
const labelWidth = 230;
const headHeight = 64;
const pixelsPerByte = 2.5;

/** Returns the streams that a stage reads and writes. */
function accessesOf(stage) {
  if (stage.kind === "product") {
    const updated = stage.writes ?? [];
    return { reads: [stage.left, stage.right, ...(stage.addends ?? []), ...updated], writes: updated.length > 0 ? updated : stage.makes };
  }
  const reduced = (stage.reduces ?? [])
    .filter((one) => one.id)
    .map((one) => ({ id: one.id, text: one.text, bytes: 8, over: "reduced" }));
  return { reads: stage.reads ?? [], writes: [...(stage.writes ?? []), ...(stage.makes ?? []), ...reduced] };
}

function titleOf(stage) {
  const over = stage.over?.replace("_by_", " × ");
  if (stage.kind === "sweep") return [`sweep ${stage.number}`, `over ${over}`, `${stage.flops} flop`];
  if (stage.kind === "product")
    return [`product ${stage.number}`, `${stage.rows} × ${stage.columns}`, stage.saved ? "symmetric" : "general"];
  if (stage.kind === "call") return [`call ${stage.number}`, stage.function, stage.onHost ? "on the host" : stage.shape];
  return ["prologue", `${plural(stage.scalars.length, "scalar")}`, "in f64"];
}

/**
 * Returns the lanes of the picture: one for each named stream, then as many as there are temporary
 * streams at a time. Each lane has parts: a stream, and the columns from its first to its last use.
 */
function lanesOf(plan, stages) {
  const lanes = plan.streams.map((stream) => [{ stream, first: 0, last: stages.length - 1 }]);
  const parts = new Map();
  stages.forEach((stage, column) => {
    const { reads, writes } = accessesOf(stage);
    for (const stream of [...reads, ...writes]) {
      if (plan.streams.some((one) => one.id === stream.id)) continue;
      if (!parts.has(stream.id)) parts.set(stream.id, { stream, first: column, last: column });
      parts.get(stream.id).last = column;
    }
  });
  const temporary = [];
  for (const part of parts.values()) {
    const free = temporary.find((lane) => lane.at(-1).last < part.first);
    if (free) free.push(part);
    else temporary.push([part]);
  }
  return { lanes: [...lanes, ...temporary], named: lanes.length };
}

function bytesOf(stream) {
  const unit = stream.over === "element" ? "element" : stream.over.replaceAll("_", " ");
  return `${shown(stream.bytes)} B / ${unit}`;
}

/** Draws a stream from its first to its last use. */
function drawPart({ stream, first, last }, y, isNamed) {
  const x = (column) => labelWidth + column * columnWidth;
  const group = svg("g", {});
  group.append(
    svg("line", {
      class: isNamed ? "lane" : "lane temporary",
      x1: isNamed ? x(first) : x(first) + columnWidth / 2 + 12,
      x2: isNamed ? x(last + 1) : x(last) + columnWidth / 2 - 12,
      y1: y,
      y2: y,
      "stroke-width": Math.max(1.5, Math.min(stream.bytes, 8) * pixelsPerByte),
    }),
    svg("title", {}, `${stream.text}, ${bytesOf(stream)}`),
  );
  return group;
}

function drawPlan(plan) {
  const stages = plan.stages.filter((stage) => stage.kind !== "prologue" || stage.scalars.length);
  const { lanes, named } = lanesOf(plan, stages);
  const width = labelWidth + stages.length * columnWidth;
  const height = headHeight + lanes.length * laneHeight + 8;
  const yOf = (lane) => headHeight + (lane + 0.5) * laneHeight;
  const y = new Map(lanes.flatMap((parts, lane) => parts.map(({ stream }) => [stream.id, yOf(lane)])));
  const picture = svg("svg", {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Plan ${plan.name}: ${stages.map((stage) => titleOf(stage).join(" ")).join(", then ")}. The table below has the same content.`,
  });
  stages.forEach((stage, at) => {
    const left = labelWidth + at * columnWidth + 6;
    const group = svg("g", { class: `stage ${stage.kind}` });
    group.append(svg("rect", { x: left, y: 2, width: columnWidth - 12, height: height - 4, rx: 6 }));
    titleOf(stage).forEach((line, row) =>
      group.append(svg("text", { x: left + columnWidth / 2 - 6, y: 18 + row * 15, class: row ? "small" : "" }, line)),
    );
    if (stage.when) group.append(svg("title", {}, `in steps where ${stage.when}`));
    picture.append(group);
  });
  lanes.forEach((parts, lane) => {
    const isNamed = lane < named;
    const { stream } = parts[0];
    const name = isNamed ? stream.id : `temporary ${lane - named + 1}`;
    const bytes = isNamed ? `${stream.type} ${bytesOf(stream)}` : plural(parts.length, "value");
    picture.append(
      svg("text", { x: 0, y: yOf(lane) - 2, class: "lane-name" }, name),
      svg("text", { x: 0, y: yOf(lane) + 11, class: "lane-bytes" }, bytes),
      ...parts.map((part) => drawPart(part, yOf(lane), isNamed)),
    );
  });
  stages.forEach((stage, at) => {
    const center = labelWidth + (at + 0.5) * columnWidth;
    const { reads, writes } = accessesOf(stage);
    for (const id of new Set(reads.map((stream) => stream.id)))
      picture.append(svg("circle", { cx: center - 12, cy: y.get(id), r: 6, class: "read" }));
    for (const id of new Set(writes.map((stream) => stream.id))) {
      const top = y.get(id);
      const path = `M${center + 6} ${top - 7} L${center + 18} ${top} L${center + 6} ${top + 7} Z`;
      picture.append(svg("path", { d: path, class: "write" }));
    }
  });
  return element(
    "figure",
    { class: "picture" },
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Picture of ${plan.name}` }, picture),
    element("figcaption", {}, "● reads, ▶ writes. A lane is as wide as its bytes. Dashed lanes are temporary values."),
  );
}

function describeStage(stage) {
  const { reads, writes } = accessesOf(stage);
  const names = (streams) => streams.map((stream) => stream.text).join(", ");
  const work =
    stage.kind === "sweep"
      ? `${stage.flops} flop, ${plural(stage.divisions, "division")}, ${plural(stage.roots, "root")}`
      : stage.kind === "product"
        ? `${stage.flops} flop${stage.saved ? `; symmetry saves ${stage.saved}` : ""}${stage.sum ? `; adds ${stage.sum}` : ""}${stage.update ? `; updates ${stage.update}` : ""}${stage.rounded ? `; ${stage.rounded} where the target multiplies it` : ""}`
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
  const [m, n] = { tall: [4096, 1024], square: [2048, 2048] }[plan.shapes] ?? [1024, 4096];
  const rows = input("rows", m);
  const columns = input("columns", n);
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

/** The tensors that a plan is for: "all tensors", "vectors", "wide matrices". */
function tensorsOf(plan, report) {
  if (report.plans.length === 1) return "all tensors";
  if (plan.tensors !== "matrix") return "vectors";
  return `${plan.shapes.replaceAll("|", " and ")} matrices`.trim();
}

function renderPlans(report) {
  const body = document.getElementById("plan-body");
  const last = report.plans.length - 1;
  body.replaceChildren(
    ...report.plans.map((plan, at) =>
      element(
        "details",
        at === 0 || at === last ? { open: "" } : {},
        element("summary", { class: "plan-name" }, `For ${tensorsOf(plan, report)}`),
        drawPlan(plan),
        productCosts(plan),
        element("ul", {}, plan.notFused.map((why) => element("li", {}, `Not fused: ${why}.`))),
        element(
          "details",
          {},
          element("summary", {}, "The same as a table"),
          table(`Stages of ${plan.name}`, ["stage", "reads", "writes", "does", "in steps"], plan.stages.map(describeStage)),
        ),
      ),
    ),
  );
}
