import assert from "node:assert/strict";
import { test } from "node:test";
import { createEscape } from "../src/terminal/escape.ts";

/** What goes on of what is typed key by key; `!` where it leaves. */
function typed(...keys: string[]): string {
  const escape = createEscape();
  return keys
    .map((key) => {
      const { forward, leaves } = escape(Buffer.from(key));
      return Buffer.from(forward).toString() + (leaves ? "!" : "");
    })
    .join("");
}

test("leaves by ~. at the start of a line, in whatever pieces it comes, and nowhere else", () => {
  for (const [keys, expected] of [
    [["~."], "!"],
    [["~", "."], "!"],
    [["ls\r~", "."], "ls\r!"],
    [["ls\n~.rest"], "ls\n!"],
    [["cd ~."], "cd ~."],
    [["a~.\r"], "a~.\r"],
    [["~~."], "~."],
    [["~", "~", "."], "~."],
    [["~/x\r~."], "~/x\r!"],
    [["~\r~."], "~\r!"],
    [["é~."], "é~."],
    [["\u0003~."], "\u0003~."],
  ] as const)
    assert.equal(typed(...keys), expected, JSON.stringify(keys));
});
