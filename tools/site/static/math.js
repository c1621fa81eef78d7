// Typesets the formulas of a page with KaTeX, which is part of the site.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".math")) {
    const displayMode = element.tagName === "DIV";
    katex.render(element.dataset.tex, element, { displayMode, throwOnError: true });
  }
});
