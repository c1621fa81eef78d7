
// behaviour.js - The update for canned gradients, beside that of AdamW.

const chart = { width: 420, height: 190, left: 58, right: 10, top: 10, bottom: 28 };

function powerOfTen(exponent) {
  return exponent >= -3 && exponent <= 3 ? String(Number((10 ** exponent).toPrecision(1))) : `1e${exponent}`;
}

/** Returns the range of positive values in powers of ten; a step without an update has none. */
function decades(curves) {
  const positive = curves.flatMap((curve) => curve.values).filter((value) => value > 0);
  if (!positive.length) return [-1, 0];
  const low = Math.max(Math.floor(Math.log10(Math.min(...positive))), Math.ceil(Math.log10(Math.max(...positive))) - 8);
  return [low, Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive))))];
}

function drawCurves(signal, curves, steps) {
  const [low, high] = decades(curves);
  const x = (step) => chart.left + ((step - 1) / (steps - 1)) * (chart.width - chart.left - chart.right);
  const y = (value) => {
    const exponent = Math.min(high, Math.max(low, Math.log10(value)));
    return chart.top + ((high - exponent) / (high - low)) * (chart.height - chart.top - chart.bottom);
  };
  const picture = svg("svg", {
    viewBox: `0 0 ${chart.width} ${chart.height}`,
    role: "img",
    "aria-label": `${signal.title}: size of the update over ${steps} steps`,
  });
  const every = Math.ceil((high - low) / 5);
  for (let exponent = low; exponent <= high; exponent += every)
    picture.append(
      svg("line", { class: "grid", x1: chart.left, x2: chart.width - chart.right, y1: y(10 ** exponent), y2: y(10 ** exponent) }),
      svg("text", { class: "tick end", x: chart.left - 6, y: y(10 ** exponent) + 4 }, powerOfTen(exponent)),
    );
  for (const step of [1, steps / 4, steps / 2, (3 * steps) / 4, steps])
    picture.append(svg("text", { class: "tick middle", x: x(step), y: chart.height - 10 }, String(Math.round(step))));
  for (const { name, values } of curves) {
    let path = "";
    let isOpen = false;
    values.forEach((value, at) => {
      if (value > 0) path += `${isOpen ? "L" : "M"}${x(at + 1).toFixed(1)} ${y(value).toFixed(1)}`;
      isOpen = value > 0;
    });
    picture.append(svg("path", { class: `curve ${name}`, d: path }));
    // A single step between two without an update has no line to it.
    values.forEach((value, at) => {
      const isAlone = value > 0 && !(values[at - 1] > 0) && !(values[at + 1] > 0);
      if (isAlone) picture.append(svg("circle", { class: `dot ${name}`, cx: x(at + 1), cy: y(value), r: 2.5 }));
    });
  }
  return picture;
}

function renderBehaviour(report) {
  const body = document.getElementById("behaviour-body");
  const { reason, signals, steps, shape, lr, adamwLr } = report.behaviour;
  if (reason) {
    body.replaceChildren(element("p", {}, reason));
    return;
  }
  const figures = signals.map((signal) => {
    const scaled = (values, rate) => values.map((value) => value / rate);
    const curves = [
      { name: "adamw", values: scaled(signal.adamw, adamwLr) },
      { name: "rule", values: scaled(signal.updates, lr) },
    ];
    const [other, own] = curves.map((curve) => curve.values);
    const at = [1, 2, 10, 49, 50, 51, 100].filter((step) => step <= steps);
    const ended = own.length < steps ? ` The update of step ${own.length + 1} is not finite.` : "";
    return element(
      "figure",
      { class: "chart" },
      element("figcaption", {}, signal.title + ended),
      drawCurves(signal, curves, steps),
      element(
        "details",
        {},
        element("summary", {}, "Numbers"),
        table(signal.title, ["step", report.name, "AdamW"], at.map((step) => [step, own[step - 1] ?? "", other[step - 1] ?? ""])),
      ),
    );
  });
  body.replaceChildren(
    element(
      "p",
      {},
      `Root mean square of each update, divided by lr where the rule has one, for a parameter of ${shape.join(" × ")} ones. Computed in f64 by the reference interpreter. `,
      element("span", { class: "key rule" }, report.name),
      " ",
      element("span", { class: "key adamw" }, "AdamW with its defaults"),
    ),
    element("div", { class: "charts" }, figures),
  );
}
