// What differs between two versions, by what they declare.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { diffDeployments, isOlder } from "../src/features/deployments/diff-deployments.ts";

type Declarations = Parameters<typeof diffDeployments>[0];

const EMPTY: Declarations = { tasks: [], actors: [], schedules: [], sandboxes: [], queues: [] };

describe("the difference of two deployments", () => {
  const rows: [string, Partial<Declarations>, Partial<Declarations>, string[]][] = [
    ["nothing", { tasks: [{ id: "a" }] }, { tasks: [{ id: "a" }] }, []],
    ["an added task", {}, { tasks: [{ id: "a" }] }, ["task a added"]],
    ["a removed actor", { actors: [{ id: "a" }] }, {}, ["actor a removed"]],
    [
      "a task that became an actor",
      { tasks: [{ id: "a" }] },
      { actors: [{ id: "a" }] },
      ["task a removed", "actor a added"],
    ],
    [
      "changed members, not given ones as null",
      { tasks: [{ id: "a", description: null, queue: "one" }] },
      { tasks: [{ id: "a", queue: "two", ttl: "1h" }] },
      ['task a changed: queue "one" → "two", ttl null → "1h"'],
    ],
    [
      "the order of members and of declarations",
      { tasks: [{ id: "a", payload_schema: { x: 1, y: { p: 1, q: 2 } } }, { id: "b" }] },
      { tasks: [{ id: "b" }, { id: "a", payload_schema: { y: { q: 2, p: 1 }, x: 1 } }] },
      [],
    ],
    [
      "the order of a list",
      { sandboxes: [{ id: "s", setup: ["a", "b"] }] },
      { sandboxes: [{ id: "s", setup: ["b", "a"] }] },
      ['sandbox s changed: setup ["a","b"] → ["b","a"]'],
    ],
    [
      "queues by their names, schedules by their ids",
      { queues: [{ name: "q", concurrency_limit: 1 }], schedules: [] },
      {
        queues: [{ name: "q", concurrency_limit: 2 }],
        schedules: [{ id: "nightly", task: "a", cron: "0 7 * * *" }],
      },
      ["schedule nightly added", "queue q changed: concurrency_limit 1 → 2"],
    ],
  ];
  for (const [name, from, to, expected] of rows)
    test(name, () => {
      const found = diffDeployments({ ...EMPTY, ...from }, { ...EMPTY, ...to }).map((change) => {
        const members = change.members.map(
          (member) => `${member.name} ${JSON.stringify(member.before)} → ${JSON.stringify(member.after)}`,
        );
        const text = `${change.kind} ${change.name} ${change.what}`;
        return members.length === 0 ? text : `${text}: ${members.join(", ")}`;
      });
      assert.deepEqual(found, expected);
    });

  test("tells older versions by day and count, not by their text", () => {
    for (const [one, other] of [
      ["20261120.9", "20261120.10"],
      ["20261119.10", "20261120.1"],
    ] as const) {
      assert.equal(isOlder(one, other), true);
      assert.equal(isOlder(other, one), false);
    }
    assert.equal(isOlder("20261120.1", "20261120.1"), false);
  });
});
