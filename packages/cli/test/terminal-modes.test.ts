import assert from "node:assert/strict";
import { test } from "node:test";
import { watchModes } from "../src/terminal/modes.ts";

function resetAfter(...shown: string[]): string {
  const modes = watchModes();
  for (const one of shown) modes.watch(Buffer.from(one));
  return modes.reset();
}

test("ends what a program has left on, and only that", () => {
  for (const [shown, expected] of [
    [["plain \u001b[31mred"], "\u001b[0m"],
    [["\u001b[?1049h\u001b[?25l vim"], "\u001b[?1049l\u001b[?25h\u001b[0m"],
    [["\u001b[?1049h", "\u001b[?1049l"], "\u001b[0m"],
    [["\u001b[?1000;1006h"], "\u001b[?1000l\u001b[?1006l\u001b[0m"],
    [["\u001b[?20", "04h"], "\u001b[?2004l\u001b[0m"],
    [["\u001b", "[?1h\u001b="], "\u001b[?1l\u001b>\u001b[0m"],
    [["\u001b[?12h\u001b[?7l"], "\u001b[0m"],
  ] as const)
    assert.equal(resetAfter(...shown), expected, JSON.stringify(shown));
});
