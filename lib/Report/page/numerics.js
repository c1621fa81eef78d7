
// numerics.js - Roundings, bounds, and the scalars that the compiler hoisted out of the loop.

function renderNumerics(report) {
  const body = document.getElementById("numerics-body");
  const { mode, meaning, streams, functions } = report.numerics;
  body.replaceChildren(
    element("p", {}, element("b", {}, `Mode ${mode}: `), `${meaning}. Elements are computed in ${report.plans[0].compute}.`),
    table(
      "What storing may change, relative to a normal number",
      ["stream", "stored as", "rounding", "at most"],
      streams.map((one) => [one.stream, one.stored, one.rounding, one.bound]),
    ),
  );
  if (functions.length)
    body.append(
      table("Largest measured errors of elementary functions", ["function", "type", "error"], functions.map((one) => [one.function, one.type, one.bound])),
    );
  const rows = [];
  const where = [];
  for (const plan of report.plans)
    for (const stage of plan.stages.filter((one) => one.kind === "prologue")) {
      for (const scalar of stage.scalars) {
        const values = scalar.values ?? [scalar.unknown, "", ""];
        rows.push([element("code", {}, scalar.formula), scalar.type, ...values]);
      }
      for (const one of stage.where) where.push(`${one.name} = ${one.formula}`);
    }
  if (rows.length)
    body.append(
      table("Hoisted scalars: once per step, not per element", ["formula", "type", "step 1", "step 10", "step 1000"], rows),
    );
  if (where.length) body.append(element("p", {}, "where ", where.flatMap((one, at) => [at ? ", " : "", element("code", {}, one)])));
  const hypers = report.hypers.map((one) => `${one.name} = ${shown(one.default)}`);
  if (hypers.length) body.append(element("p", { class: "dim" }, `With ${hypers.join(", ")}.`));
}
