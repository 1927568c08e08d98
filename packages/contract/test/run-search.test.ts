import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeId, encodeId, type Uuid } from "../src/ids.ts";
import { parseRunSearch, type RunSearch } from "../src/run-search.ts";

const EMPTY: RunSearch = {
  ...{ terms: [], statuses: [], task: null, actor: null, tags: [], id: null },
  ...{ createdAfter: null, createdBefore: null },
};
const term = (text: string, more: object = {}) => ({
  ...{ field: "any", key: null, text, isPrefix: false, isNegated: false },
  ...more,
});
const day = (text: string): number => Date.parse(text);

describe("the text of a search", () => {
  const READ: readonly [text: string, search: Partial<RunSearch>][] = [
    ["", {}],
    ["  timeout  ", { terms: [term("timeout")] as RunSearch["terms"] }],
    ["a b", { terms: [term("a"), term("b")] as RunSearch["terms"] }],
    ['"no answer"', { terms: [term("no answer")] as RunSearch["terms"] }],
    ["cust*", { terms: [term("cust", { isPrefix: true })] as RunSearch["terms"] }],
    ["-retry", { terms: [term("retry", { isNegated: true })] as RunSearch["terms"] }],
    ['-"no answer"', { terms: [term("no answer", { isNegated: true })] as RunSearch["terms"] }],
    ["error:host", { terms: [term("host", { field: "error" })] as RunSearch["terms"] }],
    ['-payload:"a b"', { terms: [term("a b", { field: "payload", isNegated: true })] as RunSearch["terms"] }],
    ["metadata:x", { terms: [term("x", { field: "metadata" })] as RunSearch["terms"] }],
    [
      'metadata.a.b:"Ada L"',
      { terms: [term("Ada L", { field: "metadata", key: "a.b" })] as RunSearch["terms"] },
    ],
    ['"a:b"', { terms: [term("a:b")] as RunSearch["terms"] }],
    ["status:failed status:expired", { statuses: ["failed", "expired"] }],
    ["task:report tag:a tag:b", { task: "report", tags: ["a", "b"] }],
    ["actor:chat", { actor: "chat" }],
    ["created:2026-01-31", { createdAfter: day("2026-01-31") - 1, createdBefore: day("2026-02-01") }],
    ["created:>2026-01-31", { createdAfter: day("2026-02-01") - 1 }],
    ["created:>=2026-01-31", { createdAfter: day("2026-01-31") - 1 }],
    ["created:<2026-01-31", { createdBefore: day("2026-01-31") }],
    ["created:<=2026-01-31", { createdBefore: day("2026-02-01") }],
    ["created:>2026-01-31T12:00", { createdAfter: day("2026-01-31T12:00Z") }],
    ["created:<2026-01-31T12:00:00+02:00", { createdBefore: day("2026-01-31T10:00Z") }],
    [
      "created:>2026-01-01 created:>2026-01-31 created:<2026-03-01 created:<2026-02-01",
      { createdAfter: day("2026-02-01") - 1, createdBefore: day("2026-02-01") },
    ],
  ];
  for (const [text, search] of READ)
    test(JSON.stringify(text), () =>
      assert.deepEqual(parseRunSearch(text), { search: { ...EMPTY, ...search } }),
    );

  test("an id, and the beginning of one", () => {
    const uuid = "01890a5d-ac96-774b-bcce-b302099a8057" as Uuid<"run">;
    const id = encodeId("run", uuid);
    for (const text of [id, `id:${id}`])
      assert.deepEqual(parseRunSearch(text), { search: { ...EMPTY, id: { first: uuid, last: uuid } } });
    const beginning = parseRunSearch(id.slice(0, 14));
    assert.ok("search" in beginning && beginning.search.id !== null);
    const { first, last } = beginning.search.id;
    assert.ok(first < uuid && uuid < last);
    assert.equal(first, decodeId("run", id.slice(0, 14).padEnd(30, "0")));
  });

  const REFUSED: readonly [text: string, position: number, message: RegExp][] = [
    ['a "b', 3, /never closed/],
    ['"a"b', 4, /space/],
    ["customer:ada", 1, /no field customer; .*quotes/],
    ["a status:done", 10, /no status done; .*succeeded/],
    ["error:", 7, /needs a value/],
    ["-status:failed", 1, /cannot be excluded/],
    ["task:a task:b", 8, /names two/],
    ["id:x!", 4, /not the id/],
    ["run_8", 1, /not the id/],
    ["created:yesterday", 9, /write a time/],
    ["a b ***", 5, /letters or digits/],
    ["abc*", 1, /at least 4/],
    ["x".repeat(513), 513, /at most 512/],
    ["w ".repeat(21), 41, /at most 20/],
    ["http://x", 1, /quotes/],
  ];
  for (const [text, position, message] of REFUSED)
    test(`${text.slice(0, 20)} is refused`, () => {
      const parsed = parseRunSearch(text);
      assert.ok("mistake" in parsed);
      assert.equal(parsed.mistake.position, position, parsed.mistake.message);
      assert.match(parsed.mistake.message, message);
    });
});
