// What programs write, as text with colours: nothing of it moves, links, copies or hides anything.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { applySgr, createAnsiParser, PLAIN, type AnsiStyle } from "../src/ui/ansi.ts";
import { createAnsiLines } from "../src/ui/ansi-lines.ts";
import { luminance, readableColors, textOn } from "../src/ui/readable-color.ts";
import { visibleLine, visibleText } from "../src/ui/visible-text.ts";

const E = "\u001b";

describe("colours of output", () => {
  const sgr: [string, Partial<AnsiStyle>][] = [
    ["", {}],
    ["0", {}],
    ["1", { isBold: true }],
    ["2", { isDim: true }],
    ["3;4", { isItalic: true, isUnderlined: true }],
    ["4:3", { isUnderlined: true }],
    ["4;4:0", {}],
    ["7;9", { isInverse: true, isStruck: true }],
    ["1;2;22", {}],
    ["3;4;7;9;23;24;27;29", {}],
    ["5", {}],
    ["8", {}],
    ["30", { color: { index: 0 } }],
    ["37", { color: { index: 7 } }],
    ["90", { color: { index: 8 } }],
    ["97", { color: { index: 15 } }],
    ["41", { background: { index: 1 } }],
    ["107", { background: { index: 15 } }],
    ["31;42;39;49", {}],
    ["38;5;9", { color: { index: 9 } }],
    ["38;5;16", { color: { rgb: [0, 0, 0] } }],
    ["38;5;196", { color: { rgb: [255, 0, 0] } }],
    ["38;5;231", { color: { rgb: [255, 255, 255] } }],
    ["48;5;232", { background: { rgb: [8, 8, 8] } }],
    ["48;5;255", { background: { rgb: [238, 238, 238] } }],
    ["38;5;256", {}],
    ["38;2;1;2;3", { color: { rgb: [1, 2, 3] } }],
    ["48;2;1;2;3;1", { background: { rgb: [1, 2, 3] }, isBold: true }],
    ["38;2;1;2;300", {}],
    ["38;2;1", {}],
    ["38:5:9;1", { color: { index: 9 }, isBold: true }],
    ["38:2:1:2:3", { color: { rgb: [1, 2, 3] } }],
    ["38:2::1:2:3", { color: { rgb: [1, 2, 3] } }],
    ["58;2;9;9;9;1", { isBold: true }],
    ["58;5;9;1", { isBold: true }],
    ["999;1", { isBold: true }],
    ["31;0", {}],
  ];
  for (const [text, expected] of sgr)
    test(`SGR ${JSON.stringify(text)}`, () =>
      assert.deepEqual(applySgr(PLAIN, text), { ...PLAIN, ...expected }));

  const shown: [string, string, string][] = [
    ["plain text", "a\tb\r\nc", "a\tb\r\nc"],
    ["a colour", `${E}[31mred${E}[0m`, "red"],
    ["moves and clears", `a${E}[2J${E}[1;1H${E}[?25lb${E}[10Ac`, "abc"],
    ["a link", `${E}]8;;https://evil.example${E}\\text${E}]8;;${E}\\`, "text"],
    ["a title", `${E}]0;title\u0007text`, "text"],
    ["the clipboard", `${E}]52;c;ZXZpbA==\u0007text`, "text"],
    ["a device's string", `${E}P1$r0m${E}\\text`, "text"],
    ["a character set", `${E}(Bt${E}7e${E}=xt`, "text"],
    ["private colours", `${E}[>4;2mtext${E}[?1m`, "text"],
    ["a bell and a backspace", "a\u0007\b", "a\\u{7}\\u{8}"],
    ["an unknown escape", `${E}\u00e9`, "\\u{1b}\u00e9"],
    ["a string over its line", `${E}]0;hidden\nseen`, "\\u{1b}]0;hidden\nseen"],
    ["a sequence in a sequence", `${E}[3${E}[31mx`, "\\u{1b}[3x"],
    ["what is cut off", `text${E}[3`, "text\\u{1b}[3"],
    ["direction", "a\u202eb", "a\\u{202e}b"],
    ["an eight-bit control", "\u009b31mred", "\\u{9b}31mred"],
  ];
  for (const [name, text, expected] of shown)
    test(`${name}: the same at once and by the character`, () => {
      for (const pieces of [[text], text.split("")]) {
        const parser = createAnsiParser();
        const spans = [...pieces.flatMap(parser.push), ...parser.end()];
        assert.equal(spans.map((span) => span.text).join(""), expected);
      }
    });

  test("an endless sequence is text in the end", () => {
    const parser = createAnsiParser();
    assert.deepEqual(parser.push(`${E}]0;`), []);
    const [span] = parser.push("x".repeat(5000));
    assert.equal(span?.text, `\\u{1b}]0;${"x".repeat(5000)}`);
  });
});

describe("lines of output", () => {
  const textOf = (lines: ReturnType<typeof createAnsiLines>): string[] =>
    lines.read().lines.map((line) => line.map(({ text }) => text).join(""));

  test("are broken, and begun over again by a carriage return", () => {
    const lines = createAnsiLines(10);
    lines.push("one\r\n10%\r20");
    lines.push(`%\r${E}[32mdone\nlast\r`);
    assert.deepEqual(textOf(lines), ["one", "done", "last"]);
    assert.equal(lines.read(), lines.read());
    assert.deepEqual(lines.read().lines[1]?.[0]?.style.color, { index: 2 });
  });

  test("are kept up to a number, and cut where they are long", () => {
    const lines = createAnsiLines(3);
    for (let i = 0; i < 100; i += 1) lines.push(`${i}\n`);
    assert.deepEqual(textOf(lines), ["98", "99", ""]);
    assert.equal(lines.read().dropped, 98);
    const long = createAnsiLines(10);
    long.push("x".repeat(9000));
    assert.deepEqual(
      textOf(long).map(({ length }) => length),
      [4000, 4000, 1000],
    );
  });
});

test("names hide nothing", () => {
  for (const [text, expected] of [
    ["plain ünï 😀 👩‍👩‍👧.txt", "plain ünï 😀 👩‍👩‍👧.txt"],
    ["a\nb\tc", "a\\nb\\tc"],
    ["\u202egpj.exe", "\\u{202e}gpj.exe"],
    ["a\u200bb\ufeff\u{e0041}", "a\\u{200b}b\\u{feff}\\u{e0041}"],
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ] as const)
    assert.equal(visibleText(text), expected);
  assert.equal(visibleLine("a\tb\u0000"), "a\tb\\u{0}");
});

test("any colour of text is read on light and dark", () => {
  const contrast = (a: number, b: number): number => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  for (const r of [0, 51, 128, 200, 255])
    for (const g of [0, 51, 128, 200, 255])
      for (const b of [0, 51, 128, 200, 255]) {
        const rgb = [r, g, b] as const;
        const { onLight, onDark } = readableColors(rgb);
        assert.ok(contrast(luminance(onLight), luminance([241, 244, 244])) >= 4.5, String(rgb));
        assert.ok(contrast(luminance(onDark), luminance([30, 35, 39])) >= 4.5, String(rgb));
        assert.ok(contrast(luminance(textOn(rgb)), luminance(rgb)) >= 4.5, String(rgb));
      }
});
