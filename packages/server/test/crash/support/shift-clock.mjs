// Preloaded into a server: its wall clock is off by the milliseconds that a file holds, from when the file says so.

import { readFileSync } from "node:fs";

const RightDate = Date;
const file = process.env.TEST_CLOCK_FILE;
let shiftMs = 0;
let readAt = Number.NEGATIVE_INFINITY;

function shift() {
  if (performance.now() - readAt > 50) {
    readAt = performance.now();
    // While it is written it is empty.
    const text = readFileSync(file, "utf8");
    if (text !== "") shiftMs = Number(text);
  }
  return shiftMs;
}

globalThis.Date = class Date extends RightDate {
  constructor(...parts) {
    if (parts.length === 0) super(RightDate.now() + shift());
    else super(...parts);
  }

  static now() {
    return RightDate.now() + shift();
  }
};
