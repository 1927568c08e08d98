// Whoever sends a text of the wrong form is told in words what form it must have, and is shown no regular expression.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wordsOfNames, wordsOfPattern } from "../../src/http/edge/pattern-words.ts";
import { bodyValidator } from "../../src/http/edge/validate.ts";
import { routes } from "../../src/http/routes.ts";

/** Every name matches it. */
const ANY_NAME = "^.*$";

/** All patterns in a schema, of texts and of names. */
function patternsIn(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { pattern, patternProperties } = schema as { pattern?: unknown; patternProperties?: object };
  return [
    ...(typeof pattern === "string" ? [pattern] : []),
    ...Object.keys(patternProperties ?? {}),
    ...Object.values(schema).flatMap(patternsIn),
  ];
}

describe("the form of a text", () => {
  for (const { method, path, family, query, body } of routes) {
    const patterns = new Set([...patternsIn(query), ...patternsIn(body)]);
    patterns.delete(ANY_NAME);
    // Workers are programs of ours.
    if (family === "worker" || patterns.size === 0) continue;
    test(`of ${method} ${path} is told in words`, () => {
      assert.deepEqual(
        [...patterns].filter((pattern) => wordsOfPattern(pattern) === null),
        [],
      );
    });
  }

  test("of a name that a caller has chosen is told where it stands", () => {
    const start = routes.find(({ operationId }) => operationId === "apiCreateExec");
    assert.ok(start?.body);
    const check = bodyValidator(start.body);
    assert.throws(() => check({ command: ["true"], env: { "1ST": "x" } }), {
      code: "invalid_request",
      details: {
        issues: [
          {
            path: "env.1ST",
            message:
              "has another name than it may; it must be 1 to 128 letters, digits or underscores, the first no digit",
          },
        ],
      },
    });
  });

  test("of names is said only of objects with names of the caller's", () => {
    assert.equal(wordsOfNames({ properties: {} }), null);
    assert.equal(wordsOfNames(undefined), null);
  });
});
