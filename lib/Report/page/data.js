"use strict";

// data.js - The documents of the page.

/** Returns the bytes of a zlib stream as text. */
async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

/** Returns the document with its texts and its run. */
async function unpacked(report) {
  const result = { ...report };
  for (const member of ["texts", "run"]) {
    if (typeof result[member] !== "string") continue;
    const bytes = Uint8Array.from(atob(result[member]), (c) => c.charCodeAt(0));
    result[member] = JSON.parse(await inflate(bytes));
  }
  return result;
}

function embedded(id, from = document) {
  const element = from.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

/** A document with indices from lines to lines. */
class Report {
  constructor(data) {
    Object.assign(this, data);
    this.indices = new Map();
    this.facts = new Map(data.lines.map((line) => [`${line.source}:${line.line}`, line]));
  }

  stageText(stage) {
    const found = this.stages.find((one) => one.stage === stage);
    return found ? this.texts[found.text] : null;
  }

  /** Maps "source:line" to the lines of a stage, which count from 0. */
  indexOf(stage) {
    if (this.indices.has(stage)) return this.indices.get(stage);
    const index = new Map();
    this.stageText(stage).places.forEach((place, line) => {
      for (const [source, number] of this.places[place]) {
        const key = `${source}:${number}`;
        if (!index.has(key)) index.set(key, []);
        index.get(key).push(line);
      }
    });
    this.indices.set(stage, index);
    return index;
  }

  /** Returns the lines of a stage that a line of a source became. */
  linesIn(stage, key) {
    return this.indexOf(stage).get(key) ?? [];
  }

  /** Returns why a line has no operations in a stage. */
  reason(stage, key) {
    const facts = this.facts.get(key);
    return facts?.missing?.[stage] ?? facts?.reason;
  }
}
