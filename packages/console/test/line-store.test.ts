// How the console keeps, lays out and searches the log of a run, without a browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { RunLogChunk } from "@keelson/contract";
import {
  createLineStore,
  MAX_LINE_CHARACTERS,
  type LineStore,
  type LogStream,
} from "../src/features/runs/line-store.ts";
import { createRunLog } from "../src/features/runs/log-chunks.ts";
import { createLogLayout } from "../src/features/runs/log-layout.ts";
import { createLogSearch, findError } from "../src/features/runs/log-search.ts";
import { plainText, spansOf } from "../src/features/runs/plain-text.ts";
import {
  elementHeight,
  MAX_ELEMENT_PX,
  toContentTop,
  toElementTop,
} from "../src/features/runs/scaled-scroll.ts";
import { newSeed } from "../../server/test/support/seeded-random.ts";

fc.configureGlobal({ seed: newSeed() });

type Said = readonly [stream: LogStream, text: string];
const storeOf = (said: readonly Said[], limits = {}): LineStore => {
  const store = createLineStore(limits);
  for (const [stream, text] of said) store.push(stream, text, 0);
  return store;
};
const texts = (store: LineStore): string[] =>
  Array.from({ length: store.end - store.first }, (_, index) => store.textOf(store.first + index));

describe("the lines of a log", () => {
  const cases: readonly [name: string, said: readonly Said[], lines: readonly string[]][] = [
    ["nothing", [], []],
    ["a line, and one that is not finished", [["stdout", "a\nb"]], ["a", "b"]],
    ["empty lines", [["stdout", "\n\n"]], ["", ""]],
    [
      "a line in pieces",
      [
        ["stdout", "a"],
        ["stdout", "b\n"],
        ["stdout", "c"],
      ],
      ["ab", "c"],
    ],
    [
      "a line of one stream while the other speaks",
      [
        ["stdout", "a"],
        ["stderr", "x\n"],
        ["stdout", "b\n"],
      ],
      ["ab", "x"],
    ],
    [
      "lines of Windows",
      [
        ["stdout", "a\r\nb\r"],
        ["stdout", "\nc"],
      ],
      ["a", "b", "c"],
    ],
    [
      "progress",
      [
        ["stdout", "1%\r2%"],
        ["stdout", "\r3%"],
        ["stdout", "\rdone\nnext"],
      ],
      ["done", "next"],
    ],
    ["progress that is about to be written over", [["stdout", "1%\r"]], ["1%\r"]],
    ["colours of what was written over", [["stdout", "\u001b[31m1%\r2%\n"]], ["\u001b[31m2%"]],
    [
      "a long line",
      [["stdout", "x".repeat(MAX_LINE_CHARACTERS + 1)]],
      ["x".repeat(MAX_LINE_CHARACTERS), "x"],
    ],
  ];
  for (const [name, said, lines] of cases) test(name, () => assert.deepEqual(texts(storeOf(said)), lines));

  test("are the same however the text is cut", () => {
    const text = fc.array(fc.constantFrom("a", "bc", "\n", "\r", "\r\n", "é", "😀"), { maxLength: 60 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(80), { maxLength: 8 }), (parts, cuts) => {
        const whole = parts.join("");
        const store = createLineStore();
        let from = 0;
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          store.push("stdout", whole.slice(from, cut), 0);
          from = Math.max(from, cut);
        }
        store.push("stdout", whole.slice(from), 0);
        assert.deepEqual(texts(store), texts(storeOf([["stdout", whole]])));
      }),
    );
  });

  test("are those that were written, by thousands, on both streams", () => {
    const store = createLineStore();
    for (let line = 0; line < 5000; line += 1)
      store.push(line % 3 === 0 ? "stderr" : "stdout", `line ${line}\n`, line);
    assert.equal(store.end, 5000);
    for (let line = 0; line < 5000; line += 1) {
      assert.equal(store.textOf(line), `line ${line}`);
      assert.equal(store.streamOf(line), line % 3 === 0 ? "stderr" : "stdout");
      assert.equal(store.atMsOf(line), line);
    }
  });

  test("begin in the colours that their stream was left in", () => {
    const store = storeOf([
      ["stdout", "\u001b[31mred\n"],
      ["stderr", "plain\n"],
      ["stdout", "still\u001b[0m\nno longer"],
    ]);
    assert.deepEqual(
      [0, 1, 2, 3].map((line) => store.styleOf(line).color),
      [null, null, { index: 1 }, null],
    );
  });

  test("the oldest are let go past a size, and the rest keep their numbers", () => {
    const store = createLineStore({ maxLines: 3000 });
    for (let line = 0; line < 20_000; line += 1) store.push("stdout", `${line}\n`, 0);
    assert.ok(store.end - store.first <= 3000 + 2 * 1024, `${store.first}`);
    assert.equal(store.textOf(store.first), String(store.first));
    assert.equal(store.textOf(19_999), "19999");
    assert.throws(() => store.textOf(0), RangeError);
    const small = createLineStore({ maxCharacters: 100_000 });
    for (let line = 0; line < 20_000; line += 1) small.push("stdout", `${"x".repeat(50)}\n`, 0);
    assert.ok(small.characters < 100_000 + 2 * 1024 * 50);
  });
});

describe("the log of a run as it is heard", () => {
  const chunk = (id: number, stream: LogStream, bytes: Uint8Array): RunLogChunk =>
    ({
      id: String(id),
      stream,
      data: Buffer.from(bytes).toString("base64"),
      at: "2026-01-01T00:00:00.000Z",
    }) as RunLogChunk;

  test("joins characters that were cut between chunks, on each stream by itself", () => {
    const bytes = Buffer.from("aé😀b\n");
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const log = createRunLog();
      log.add([chunk(1, "stdout", bytes.subarray(0, cut)), chunk(2, "stderr", Buffer.from("é\n"))]);
      log.add([chunk(3, "stdout", bytes.subarray(cut))]);
      assert.deepEqual(texts(log.lines).toSorted(), ["aé😀b", "é"]);
    }
  });

  test("takes each chunk once, and shows that bytes are no text", () => {
    const log = createRunLog();
    const first = chunk(1, "stdout", Uint8Array.of(0xff, 0x61));
    log.add([first]);
    log.add([first, chunk(2, "stdout", Uint8Array.of(0xc3))]);
    log.finish();
    assert.deepEqual([texts(log.lines), log.bytes, log.cursor], [["\ufffda\ufffd"], 3, 2]);
  });
});

describe("a line as it is shown", () => {
  const cases: readonly [line: string, shown: string][] = [
    ["plain", "plain"],
    ["\u001b[1;31mred\u001b[0m", "red"],
    ["a\tb", "a       b"],
    ["\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007", "click"],
    ["\u001b]52;c;ZXZpbA==\u0007x", "x"],
    ["\u001b]0;title\u001b\\x", "x"],
    ["\u001bcx\u001b[2Jy\u001b[10;10Hz", "xyz"],
    ["a\u0000b\u0007c\u0008", "a\\u{0}b\\u{7}c\\u{8}"],
    ["\u202egpj.exe", "\\u{202e}gpj.exe"],
    ["e" + "\u0301".repeat(10_000), "e" + "\u0301".repeat(4) + "…"],
    ["<script>alert(1)</script>", "<script>alert(1)</script>"],
  ];
  for (const [line, shown] of cases)
    test(JSON.stringify(line.slice(0, 40)), () => assert.equal(plainText(line), shown));

  test("whatever it holds, it has no control character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: fc.constantFrom("\u001b", "[", "]", "0", ";", "m", "\u0007", "a") }),
        (a, b) => {
          // oxlint-disable-next-line no-control-regex -- they are what is looked for
          assert.doesNotMatch(plainText((a + b).replaceAll(/[\r\n]/g, "")), /[\u0000-\u001f\u007f-\u009f]/);
        },
      ),
    );
  });

  test("has the colours it begins with until it sets others", () => {
    const { styleOf } = storeOf([["stdout", "\u001b[31m\nx\u001b[32my"]]);
    assert.deepEqual(
      spansOf("x\u001b[32my", styleOf(1)).map(({ text, style }) => [text, style.color]),
      [
        ["x", { index: 1 }],
        ["y", { index: 2 }],
      ],
    );
  });
});

describe("the rows of a log", () => {
  const rowsOf = (store: LineStore, options: { stream: LogStream | null; columns: number | null }) => {
    const layout = createLogLayout(store, options);
    return Array.from({ length: layout.rowCount }, (_, row) => Object.values(layout.at(row)));
  };
  const store = storeOf([
    ["stdout", "abcdef\n"],
    ["stderr", "x\n"],
    ["stdout", "\nabc"],
  ]);

  test("are its lines", () =>
    assert.deepEqual(rowsOf(store, { stream: null, columns: null }), [
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
    ]));
  test("are the lines of a stream", () => {
    assert.deepEqual(rowsOf(store, { stream: "stdout", columns: null }), [
      [0, 0],
      [2, 0],
      [3, 0],
    ]);
    assert.deepEqual(rowsOf(store, { stream: "stderr", columns: null }), [[1, 0]]);
  });
  test("are as many as a line needs at a width", () => {
    assert.deepEqual(rowsOf(store, { stream: null, columns: 4 }), [
      [0, 0],
      [0, 1],
      [1, 0],
      [2, 0],
      [3, 0],
    ]);
    assert.equal(createLogLayout(store, { stream: "stdout", columns: 4 }).rowOf(1), 2);
  });

  test("are the same, however the log came", () => {
    const piece = fc.tuple(
      fc.constantFrom<LogStream>("stdout", "stderr"),
      fc.string({ unit: fc.constantFrom("a", "b", "\n", "\r"), maxLength: 9 }),
    );
    const options = fc.record({
      stream: fc.constantFrom(null, "stdout" as const, "stderr" as const),
      columns: fc.constantFrom(null, 3),
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), options, (pieces, how) => {
        const grown = createLineStore();
        const layout = createLogLayout(grown, how);
        for (const [stream, text] of pieces) {
          grown.push(stream, text, 0);
          layout.update();
        }
        const rows = Array.from({ length: layout.rowCount }, (_, row) => Object.values(layout.at(row)));
        assert.deepEqual(rows, rowsOf(grown, how));
      }),
    );
  });
});

describe("the rows of a log whose oldest lines are let go", () => {
  const ways = [null, "stdout", "stderr"].flatMap((stream) =>
    [null, 5].map((columns) => ({ stream: stream as LogStream | null, columns })),
  );
  for (const how of ways)
    test(`are those that are left: ${JSON.stringify(how)}`, () => {
      const store = createLineStore({ maxLines: 5000 });
      const whole = createLineStore();
      const layout = createLogLayout(store, how);
      const all = createLogLayout(whole, how);
      for (let line = 0; line < 20_000;) {
        for (let count = 0; count < 700; count += 1, line += 1)
          for (const one of [store, whole])
            one.push(line % 3 === 0 ? "stderr" : "stdout", `${"x".repeat(line % 12)}\n`, 0);
        layout.update();
        all.update();
        assert.equal(layout.droppedRows + layout.rowCount, all.rowCount);
        for (let row = 0; row < layout.rowCount; row += 97)
          assert.deepEqual(layout.at(row), all.at(layout.droppedRows + row));
        assert.equal(layout.at(layout.rowOf(store.first)).line, all.at(all.rowOf(store.first)).line);
      }
      assert.ok(layout.droppedRows > 0);
    });
});

describe("searching a log", () => {
  const store = storeOf([
    ["stdout", "one\nTWO\n\u001b[31mt\u001b[0mwo\n"],
    ["stderr", "two errors: Error\n"],
  ]);

  test("finds lines whatever the case and the colours, forwards, backwards and around the end", () => {
    const search = createLogSearch(store, { text: "two", stream: null });
    search.advance(2);
    assert.deepEqual([search.count, search.isDone], [1, false]);
    search.advance(100);
    assert.deepEqual([search.count, search.isDone], [3, true]);
    const lineAfter = (line: number, step: 1 | -1) => search.lineOf(search.next(line, step) ?? -1);
    assert.deepEqual([lineAfter(0, 1), lineAfter(2, 1), lineAfter(4, 1)], [1, 2, 1]);
    assert.deepEqual([lineAfter(3, -1), lineAfter(2, -1), lineAfter(0, -1)], [3, 2, 3]);
    assert.equal(createLogSearch(store, { text: "three", stream: null }).next(0, 1), null);
  });

  test("is of one stream where that is shown, and takes what grows", () => {
    const grown = storeOf([["stdout", "tw"]]);
    const search = createLogSearch(grown, { text: "two", stream: "stdout" });
    search.advance(10);
    assert.equal(search.count, 0);
    grown.push("stdout", "o", 0);
    grown.push("stderr", "two", 0);
    search.advance(10);
    assert.equal(search.count, 1);
  });

  test("an error is a line that speaks of one, else one of stderr", () => {
    assert.equal(findError(store, 0), 3);
    assert.equal(
      findError(
        storeOf([
          ["stdout", "a\nb\n"],
          ["stderr", "c\n"],
        ]),
        0,
      ),
      2,
    );
    assert.equal(findError(storeOf([["stdout", "a\n"]]), 0), null);
    assert.equal(findError(createLineStore(), 0), null);
  });
});

describe("scrolling higher than a browser can", () => {
  const scroll = { contentPx: 100_000_000, viewPx: 500 };
  const last = scroll.contentPx - scroll.viewPx;

  test("what fits is scrolled as it is", () => {
    const small = { contentPx: 1000, viewPx: 500 };
    assert.equal(elementHeight(small), 1000);
    assert.equal(toContentTop(small, { top: 0, elementBefore: 0, elementTop: 300 }), 300);
    assert.equal(toElementTop(small, 9999), 500);
  });

  test("small moves are one for one, large ones go to their share, and the ends are the ends", () => {
    assert.equal(elementHeight(scroll), MAX_ELEMENT_PX);
    assert.equal(toContentTop(scroll, { top: 5000, elementBefore: 100, elementTop: 200 }), 5100);
    assert.equal(toContentTop(scroll, { top: 5000, elementBefore: 100, elementTop: 0 }), 0);
    assert.equal(toContentTop(scroll, { top: 0, elementBefore: 0, elementTop: MAX_ELEMENT_PX - 500 }), last);
    const half = (MAX_ELEMENT_PX - 500) / 2;
    assert.ok(Math.abs(toContentTop(scroll, { top: 0, elementBefore: 0, elementTop: half }) - last / 2) < 1);
  });

  test("every place can be gone to", () => {
    fc.assert(
      fc.property(fc.nat(last), (top) => {
        const elementTop = toElementTop(scroll, top);
        assert.ok(elementTop >= 0 && elementTop <= MAX_ELEMENT_PX - scroll.viewPx);
        assert.equal(
          toContentTop(scroll, { top, elementBefore: elementTop, elementTop }),
          elementTop === 0 ? 0 : elementTop >= MAX_ELEMENT_PX - 501 ? last : top,
        );
      }),
    );
  });
});
