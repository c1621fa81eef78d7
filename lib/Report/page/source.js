
// source.js - The text of the rule, one focusable line each.

class SourcePane {
  /** Calls `focus` with a key, or null, when a line is pointed at, and `pin` when it is chosen. */
  constructor(report, { focus, pin }) {
    this.report = report;
    this.callbacks = { focus, pin };
    this.text = document.getElementById("source-text");
    this.select = element(
      "select",
      { "aria-label": "File", onchange: () => this.show(Number(this.select.value)) },
      report.sources.map((source, index) =>
        element("option", { value: index }, `${source.path} (${source.kind})`),
      ),
    );
    document.getElementById("source-head").append(this.select);
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("mouseleave", () => focus(null));
    this.show(0);
  }

  show(index) {
    const source = this.report.sources[index];
    this.select.value = index;
    const grammar = source.path.endsWith(".upd") || source.kind === "chain" ? "rule" : "python";
    this.text.replaceChildren(
      ...linesOf(source.text).map((line, offset) => {
        const key = `${index}:${source.first + offset}`;
        return element(
          "div",
          {
            class: this.report.facts.get(key)?.reason ? "line" : "line linked",
            role: "option",
            "aria-selected": "false",
            "data-key": key,
            tabindex: offset === 0 ? 0 : -1,
            onmouseenter: () => this.callbacks.focus(key),
            onfocus: () => this.callbacks.focus(key, true),
            onclick: () => this.callbacks.pin(key),
          },
          element("span", { class: "gutter", "aria-hidden": "true" }, String(source.first + offset)),
          element("code", {}, coloured(line, grammar)),
        );
      }),
    );
  }

  key(event) {
    const lines = [...this.text.children];
    const at = lines.indexOf(document.activeElement);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 };
    if (event.key in moves) {
      const next = lines[Math.max(0, Math.min(lines.length - 1, moves[event.key]))];
      for (const line of lines) line.tabIndex = line === next ? 0 : -1;
      next.focus();
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
      this.callbacks.pin(lines[at].dataset.key);
    } else if (event.key === "Escape") {
      this.callbacks.pin(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  light(keys, pinned, scroll) {
    for (const line of this.text.children) {
      const isPinned = line.dataset.key === pinned;
      line.classList.toggle("lit", keys.has(line.dataset.key));
      line.classList.toggle("pinned", isPinned);
      line.setAttribute("aria-selected", String(isPinned));
      if (isPinned && scroll && document.activeElement !== line) {
        const middle = line.offsetTop - this.text.offsetTop - this.text.clientHeight / 2;
        if (Math.abs(middle - this.text.scrollTop) > this.text.clientHeight / 2) this.text.scrollTop = middle;
      }
    }
  }
}
