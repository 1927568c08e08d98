import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleLine, visibleStyled, visibleText } from "../src/terminal/visible.ts";

test("what would move the cursor, ring or set a title is shown, and does nothing", () => {
  for (const [text, shown] of [
    ["plain ü 😀", "plain ü 😀"],
    ["a\u001b]0;title\u0007b", "a\\x1b]0;title\\x07b"],
    ["\u001b[2J\r\b\u007f", "\\x1b[2J\\x0d\\x08\\x7f"],
    ["\u009b31m", "\\x9b31m"],
    ["evil\u202etxt.exe", "evil\\u202etxt.exe"],
    ["two\nlines\tof it", "two\nlines\tof it"],
    ["of Windows\r\n", "of Windows\n"],
  ] as const)
    assert.equal(visibleText(text), shown);
});

test("a name stays in its line", () => {
  assert.equal(visibleLine("new\nline\tü"), "new\\nline\\tü");
});

test("the styles of this program are kept", () => {
  assert.equal(visibleStyled("\u001b[31mA\u001b[39m b\u0007"), "\u001b[31mA\u001b[39m b\\x07");
});
