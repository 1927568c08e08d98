// Every route by which a person or a key changes something says what it leaves in the audit log, or why nothing.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { unauditedKind } from "../../src/http/edge/audit.ts";
import { routes } from "../../src/http/routes.ts";

/** Sign-ins come by GET, too: a browser opens a link. */
const SIGN_IN_BY_GET = ["openMagicLink", "finishGithub"];

describe("what routes leave in the audit log", () => {
  for (const route of routes) {
    const reason = unauditedKind(route);
    if (reason === null)
      test(`${route.method} ${route.path} says what it leaves, or why nothing`, () => {
        assert.ok(route.audit, "declare audit: { action, resource }, or { none: why }");
        if ("none" in route.audit) assert.ok(route.audit.none.length > 20);
        else {
          assert.match(route.audit.action, /^[a-z_]+\.[a-z_]+$/);
          assert.match(route.audit.resource, /^[a-z_]+$/);
        }
      });
    else if (route.audit !== undefined && !SIGN_IN_BY_GET.includes(route.operationId))
      test(`${route.method} ${route.path} leaves nothing, like its kind`, () => assert.fail(reason));
  }

  test("what is audited is done in the transaction that its event is written in", () => {
    const outside = routes.filter(
      ({ audit, transaction }) =>
        audit !== undefined &&
        "action" in audit &&
        audit.written !== "in the operation" &&
        transaction !== "required",
    );
    assert.deepEqual(
      outside.map(({ operationId }) => operationId),
      [],
    );
  });

  test("the table of actions in docs/concepts/audit-log.md is complete", async () => {
    const page = await readFile(new URL("../../../../docs/concepts/audit-log.md", import.meta.url), "utf8");
    const cells = page.split("\n").flatMap((line) => /^\| (`.*?)\s+\|/.exec(line)?.[1] ?? []);
    const documented = new Set<string>();
    let noun = "";
    for (const [, word = ""] of cells.join(" ").matchAll(/`([a-z_.]+)`/g)) {
      if (word.includes(".")) noun = word.slice(0, word.indexOf("."));
      documented.add(word.includes(".") ? word : `${noun}.${word}`);
    }
    const declared = routes.flatMap(({ audit }) =>
      audit !== undefined && "action" in audit ? [audit.action] : [],
    );
    assert.deepEqual([...documented].toSorted(), [...new Set(declared)].toSorted());
  });

  test("each action is about one kind of resource, but for a drain of one worker or of a group", () => {
    const resources = new Map<string, Set<string>>();
    for (const { audit } of routes) {
      if (audit === undefined || "none" in audit) continue;
      resources.set(audit.action, (resources.get(audit.action) ?? new Set()).add(audit.resource));
    }
    const several = [...resources].filter(([, kinds]) => kinds.size > 1).map(([action]) => action);
    assert.deepEqual(several, ["workers.drain"]);
    assert.ok(resources.size > 30, `${resources.size} actions`);
  });
});
