// Cells of the credit lens: a bar with its number, a true advantage with its interval, and one that is still measured.

import { signed } from "./credit.js";

const SVG = "http://www.w3.org/2000/svg";
const MIDDLE = 40;
const REACH = 24;

/** A bar of `share` of the height of its row. */
export function bar(cell, value, share, text) {
  const sign = Math.abs(value) < 5e-3 ? "0" : value > 0 ? "+" : "-";
  let [mark, output] = cell.children;
  if (!output) {
    mark = document.createElement("i");
    mark.className = "lens-bar";
    output = document.createElement("output");
    cell.replaceChildren(mark, output);
  }
  mark.style.setProperty("--v", share);
  mark.dataset.sign = sign;
  output.dataset.sign = sign;
  output.textContent = text;
}

/** A true advantage: a bar from zero, its 95 % interval with caps, and the number. */
export function truthBar(cell, turn, { mean, half }, top) {
  const y = (value) => MIDDLE - (REACH * value) / top;
  const holdsZero = half === null ? Math.abs(mean) < 5e-4 : Math.abs(mean) <= half;
  const picture = element("svg", { class: "truth", role: "img" });
  const interval = half === null ? ", all continuations alike" : ` plus or minus ${half.toFixed(2)}`;
  picture.setAttribute("aria-label", `turn ${turn}: ${signed(mean)}${interval}`);
  const height = Math.max(1.5, Math.abs(y(mean) - MIDDLE));
  picture.append(
    element("line", { class: "zero", x1: 0, x2: "100%", y1: MIDDLE, y2: MIDDLE }),
    element("rect", {
      class: "truth-bar", "data-sign": holdsZero ? "0" : mean > 0 ? "+" : "-",
      x: "30%", width: "40%", y: mean > 0 ? MIDDLE - height : MIDDLE, height,
    }),
  );
  if (half !== null) {
    const [low, high] = [y(mean - half), y(mean + half)];
    picture.append(
      element("line", { class: "err", x1: "50%", x2: "50%", y1: low, y2: high }),
      element("line", { class: "err", x1: "44%", x2: "56%", y1: low, y2: low }),
      element("line", { class: "err", x1: "44%", x2: "56%", y1: high, y2: high }),
    );
  }
  const text = element("text", { x: "50%", y: mean < 0 ? 77 : 11, "text-anchor": "middle" });
  text.textContent = signed(mean);
  picture.append(text);
  cell.className = "";
  cell.replaceChildren(picture);
}

/** The place of a turn that is measured later, or not at all. */
export function waiting(cell, will) {
  cell.className = "truth-wait";
  const mark = document.createElement(will ? "i" : "span");
  if (will) mark.className = "skeleton";
  else mark.textContent = "–";
  cell.replaceChildren(mark);
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
