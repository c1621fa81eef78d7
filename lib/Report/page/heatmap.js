
// heatmap.js - A picture with a row for each parameter or bucket, and a column for some steps.

/** Each picture, to draw it again when the theme changes. */
const heatMaps = new Set();

function drawHeatMap(canvas, cells) {
  const style = getComputedStyle(canvas);
  const parts = (name) => {
    canvas.style.color = `var(${name})`;
    const found = style.color.match(/[\d.]+/g).map(Number);
    canvas.style.color = "";
    return found;
  };
  const filled = parts("--accent");
  const bad = parts("--rule");
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  cells.forEach((row, y) =>
    row.forEach((level, x) => {
      if (level === null) return;
      const [red, green, blue] = Number.isNaN(level) ? bad : filled;
      const alpha = Number.isNaN(level) ? 255 : Math.round(30 + 225 * level);
      image.data.set([red, green, blue, alpha], 4 * (y * canvas.width + x));
    }),
  );
  context.putImageData(image, 0, 0);
}

/**
 * Returns the picture of levels from 0 to 1. NaN has a colour of its own, and null has none.
 * `choose`, if given, is called with the row of a click.
 */
function heatMap(label, cells, choose) {
  const canvas = element("canvas", {
    class: "heat",
    role: "img",
    "aria-label": label,
    width: Math.max(1, cells[0]?.length ?? 1),
    height: Math.max(1, cells.length),
    style: `height:${Math.min(480, Math.max(60, 14 * cells.length))}px`,
  });
  if (choose)
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      choose(Math.min(cells.length - 1, Math.floor(((event.clientY - box.top) / box.height) * cells.length)));
    });
  const draw = () => {
    if (canvas.isConnected) drawHeatMap(canvas, cells);
    else heatMaps.delete(draw);
  };
  heatMaps.add(draw);
  requestAnimationFrame(draw);
  return canvas;
}

function redrawHeatMaps() {
  for (const draw of heatMaps) draw();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawHeatMaps);
new MutationObserver(redrawHeatMaps).observe(document.documentElement, { attributeFilter: ["data-theme"] });
