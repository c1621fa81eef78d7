
// run.js - What the steps of a run reported: the probes of each rank, and what is wrong with them.

const runChart = { width: 900, height: 220, left: 70, right: 10, top: 10, bottom: 28 };

function runNumber(text) {
  if (text === "inf" || text === "-inf") return text === "inf" ? Infinity : -Infinity;
  return Number(text); // "nan" is NaN
}

/**
 * Returns the values of a series: null without a row, a number, or the counts of a histogram. `bad` are the columns of
 * which a row has NaN.
 */
function runCells(text, isHistogram) {
  const words = text.split(" ");
  const values = words.map((word) => {
    if (word === "-") return null;
    const cell = word.replace("!", "");
    return isHistogram ? cell.split(",").map(runNumber) : runNumber(cell);
  });
  values.bad = new Set([...words.keys()].filter((at) => words[at].endsWith("!")));
  return values;
}

function runSteps([first, last]) {
  return first === last ? String(first) : `${first} to ${last}`;
}

/** Returns the levels, from 0 to 1, of rows of numbers, by the logarithm of their magnitudes. */
function runLevels(rows) {
  const sizes = rows.flat().filter((value) => value !== null && Number.isFinite(value) && value !== 0).map((value) => Math.log10(Math.abs(value)));
  const low = sizes.reduce((least, size) => Math.min(least, size), Infinity);
  const high = sizes.reduce((most, size) => Math.max(most, size), -Infinity);
  const level = (value) => {
    if (value === null || Number.isNaN(value)) return value;
    if (value === 0) return 0;
    if (!Number.isFinite(value)) return 1;
    return high > low ? (Math.log10(Math.abs(value)) - low) / (high - low) : 1;
  };
  return { cells: rows.map((row) => row.map((value, at) => (row.bad.has(at) ? NaN : level(value)))), low: 10 ** low, high: 10 ** high, isEmpty: !sizes.length };
}

/** Draws lines over the columns, one for each rank. */
function drawRunLines(label, run, lines) {
  const { width, height, left, right, top, bottom } = runChart;
  const finite = lines.flat().filter((value) => value !== null && Number.isFinite(value));
  const isLog = finite.length > 0 && finite.every((value) => value > 0);
  const scaled = isLog ? Math.log10 : (value) => value;
  let low = finite.reduce((least, value) => Math.min(least, scaled(value)), Infinity);
  let high = finite.reduce((most, value) => Math.max(most, scaled(value)), -Infinity);
  if (!finite.length) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const count = run.columns.length;
  const x = (at) => left + (count > 1 ? at / (count - 1) : 0.5) * (width - left - right);
  const y = (value) => top + ((high - scaled(value)) / (high - low)) * (height - top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (let part = 0; part <= 4; ++part) {
    const value = low + ((high - low) * part) / 4;
    const at = isLog ? 10 ** value : value;
    picture.append(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(at), y2: y(at) }),
      svg("text", { class: "tick end", x: left - 6, y: y(at) + 4 }, String(Number(at.toPrecision(2)))),
    );
  }
  for (let part = 0; part <= 4; ++part) {
    const at = Math.round(((count - 1) * part) / 4);
    picture.append(svg("text", { class: "tick middle", x: x(at), y: height - 10 }, String(run.columns[at][0])));
  }
  lines.forEach((values, rank) => {
    let path = "";
    let isOpen = false;
    values.forEach((value, at) => {
      const isShown = value !== null && Number.isFinite(value);
      if (isShown) path += `${isOpen ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      if (values.bad.has(at)) picture.append(svg("circle", { class: "dot bad", cx: x(at), cy: top + 4, r: 3 }));
      if (isShown && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null)
        picture.append(svg("circle", { class: `dot rank-${rank % 6}`, cx: x(at), cy: y(value), r: 2.5 }));
      isOpen = isShown;
    });
    picture.append(svg("path", { class: `curve rank-${rank % 6}`, d: path }));
  });
  return picture;
}

function foldedTable(caption, heads, rows) {
  return element("details", {}, element("summary", {}, `Numbers: ${caption}`), table(caption, heads, rows));
}

/** Lists NaN, missing steps and differences between ranks. Empty without any. */
function runWarnings(run) {
  const file = (at) => run.files[at].name;
  const warnings = [];
  const listed = (count, rows) => (count > rows.length ? ` The first ${rows.length} are listed.` : "");
  const warn = (text, caption, heads, rows) =>
    warnings.push(element("li", {}, text, foldedTable(caption, heads, rows)));
  if (run.differences.length) {
    const [first] = [...run.differences].sort((a, b) => a.step - b.step);
    warn(
      `Ranks differ: ${first.probe} of ${first.parameter} is ${shown(first.value)} in ${file(first.file)}, and ${shown(first.first)} in ${file(0)}, at step ${first.step}. ` +
        `Values differ if they are further apart than ${run.tolerance} of the larger one. Probes of sharded parameters are of the local shard, so they differ.`,
      "where ranks differ first",
      ["file", "probe", "step", "parameter", "value", `in ${file(0)}`, "rows that differ"],
      run.differences.map((one) => [file(one.file), one.probe, one.step, one.parameter, one.value, one.first, one.count]),
    );
  }
  if (run.unmatched.length)
    warn(
      `Ranks have other rows: ${run.unmatched.map((one) => `${file(one.file)} and ${file(0)} differ by ${plural(one.count, "row")}`).join("; ")}.`,
      "the first row that a file lacks",
      ["files", "step", "parameter", "not in", "rows"],
      run.unmatched.map((one) => [`${file(0)}, ${file(one.file)}`, one.step, one.parameter, file(one.lacks), one.count]),
    );
  if (run.nan.count)
    warn(
      `${plural(run.nan.count, "row")} with NaN: the rule skipped the step, or the probe is NaN.${listed(run.nan.count, run.nan.rows)}`,
      "rows with NaN",
      ["file", "step", "parameter", "probes"],
      run.nan.rows.map((one) => [file(one.file), one.step, one.parameter, one.probes.join(", ")]),
    );
  if (run.missing.count)
    warn(
      `Steps are missing in ${plural(run.missing.count, "place")}, where the gap is longer than before and after it.${listed(run.missing.count, run.missing.gaps)}`,
      "missing steps",
      ["file", "after step", "before step"],
      run.missing.gaps.map((one) => [file(one.file), one.after, one.before]),
    );
  return warnings;
}

/** Says what the charts leave out. */
function runSampling(run) {
  const parts = [];
  const longest = run.stepCount > run.columns.length;
  if (longest)
    parts.push(
      `${run.stepCount.toLocaleString("en")} steps are shown in ${run.columns.length} columns: each has the number of largest magnitude, or the last histogram, of its steps.`,
    );
  if (run.parameterCount > run.parameters.length)
    parts.push(`The first ${run.parameters.length} of ${run.parameterCount.toLocaleString("en")} parameters are shown; warnings are of all.`);
  return parts.join(" ");
}

/** A chart of all parameters of a rank over the steps. */
function runOverview(run, probe, rank, choose) {
  const rows = probe.values[rank].map((text) => runCells(text, false));
  const { cells, low, high, isEmpty } = runLevels(rows);
  const label = `${probe.name} of ${plural(rows.length, "parameter")} over ${plural(run.columns.length, "column")} of steps, ${run.files[rank].name}`;
  const scale = isEmpty ? "" : ` Faint is ${shown(low)}, strong is ${shown(high)}, by the logarithm of the magnitude.`;
  const summary = rows.map((row, at) => {
    const values = row.filter((value) => value !== null && !Number.isNaN(value));
    const pick = (better) => (values.length ? values.reduce((a, b) => (better(b, a) ? b : a)) : "");
    return [
      run.parameters[at],
      pick((a, b) => a < b),
      pick((a, b) => a > b),
      values.at(-1) ?? "",
      row.bad.size,
    ];
  });
  return element(
    "figure",
    { class: "chart" },
    element("figcaption", {}, `A row for each parameter, a column for each step.${scale} Orange has a row with NaN. Click a row to choose the parameter.`),
    heatMap(label, cells, choose),
    foldedTable(`${probe.name} by parameter`, ["parameter", "least", "largest", "last", "columns with NaN"], summary),
  );
}

/** A chart of one parameter with a line for each rank. */
function runLines(run, probe, parameter) {
  const lines = run.files.map((_, rank) => runCells(probe.values[rank][parameter], false));
  const name = run.parameters[parameter];
  return element(
    "figure",
    { class: "chart" },
    element(
      "figcaption",
      {},
      `${name}: `,
      run.files.map((file, rank) => [element("span", { class: `key rank-${rank % 6}` }, file.name), " "]),
    ),
    drawRunLines(`${probe.name} of ${name} over the steps, ${plural(run.files.length, "rank")}`, run, lines),
    foldedTable(
      `${probe.name} of ${name}`,
      ["step", ...run.files.map((file) => file.name)],
      run.columns.map((steps, at) => [runSteps(steps), ...lines.map((line) => line[at] ?? "")]),
    ),
  );
}

/** A chart of the histograms of one parameter. */
function runHistogram(run, probe, rank, parameter) {
  const columns = runCells(probe.values[rank][parameter], true);
  const ends = [-Infinity, ...probe.bounds, Infinity];
  const buckets = probe.bounds.length + 1;
  const name = run.parameters[parameter];
  const share = (counts, bucket) => {
    if (counts === null) return null;
    const total = counts.reduce((sum, count) => sum + count, 0);
    return counts[bucket] ? Math.sqrt(counts[bucket] / total) : null;
  };
  // The largest elements are on top.
  const order = [...Array(buckets).keys()].reverse();
  const cells = order.map((bucket) => columns.map((counts, at) => (columns.bad.has(at) ? NaN : share(counts, bucket))));
  const heads = order.map((bucket) => `${shown(ends[bucket])} to ${shown(ends[bucket + 1])}`);
  return element(
    "figure",
    { class: "chart" },
    element("figcaption", {}, `${name}, ${run.files[rank].name}: a row for each bucket, from ${heads[0]} on top to ${heads.at(-1)}. Stronger is more elements; NaN is orange.`),
    heatMap(`${probe.name} of ${name} over the steps, ${plural(buckets, "bucket")}`, cells),
    foldedTable(
      `${probe.name} of ${name}`,
      ["step", ...heads],
      run.columns.map((steps, at) => [runSteps(steps), ...order.map((bucket) => columns[at]?.[bucket] ?? "")]),
    ),
  );
}

function renderRun(report) {
  const { run } = report;
  for (const part of [document.getElementById("run"), document.querySelector("nav a[href='#run']")]) part.hidden = !run;
  if (!run) return;
  const body = document.getElementById("run-body");
  const rows = run.files.reduce((sum, file) => sum + file.rows, 0);
  const range = run.columns.length ? ` of steps ${run.columns[0][0]} to ${run.columns.at(-1)[1]}` : "";
  const warnings = runWarnings(run);
  body.replaceChildren(
    element("p", {}, `${plural(rows, "row")}${range} in ${run.files.map((file) => file.name).join(", ")}. `, runSampling(run)),
    warnings.length
      ? element("ul", { class: "warnings" }, warnings)
      : element("p", { class: "dim" }, "No row has NaN, no step is missing, and ranks agree."),
  );
  if (!run.columns.length) return;
  const charts = element("div", { id: "run-charts" });
  const choice = (name, id, options) => {
    const select = element("select", { id }, options.map((text, at) => element("option", { value: at }, text)));
    select.addEventListener("change", render);
    return [element("label", {}, `${name}: `, select), select];
  };
  const [probeLabel, probes] = choice("Probe", "run-probe", run.probes.map((probe) => probe.name));
  const [fileLabel, files] = choice("File", "run-file", run.files.map((file) => file.name));
  const [parameterLabel, parameters] = choice("Parameter", "run-parameter", run.parameters);
  function render() {
    const probe = run.probes[probes.value];
    const parameter = Number(parameters.value);
    const choose = (at) => {
      parameters.value = at;
      render();
    };
    charts.replaceChildren(
      ...(probe.bounds
        ? [runHistogram(run, probe, files.value, parameter)]
        : [runOverview(run, probe, files.value, choose), runLines(run, probe, parameter)]),
    );
  }
  body.append(element("p", { class: "choices" }, probeLabel, " ", fileLabel, " ", parameterLabel), charts);
  render();
}
