import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, task } from "@keelson/sdk";

test("an isolation and folders that no worker can give are refused where they are declared", () => {
  const declare = (kind: "task" | "actor", options: object) => (): void => {
    const declared = { id: "refused-isolation", run: () => undefined, ...options };
    if (kind === "task") task(declared);
    else actor(declared);
  };
  for (const kind of ["task", "actor"] as const) {
    const refused = (options: object, reason: RegExp): void => assert.throws(declare(kind, options), reason);
    refused({ isolation: "virtual" }, /declares the isolation "virtual"\. Use one of: process, namespace/);
    refused({ folders: ["/srv"] }, /declares folders, which needs isolation "namespace"/);
    for (const [path, reason] of [
      ["srv", /declares the folder "srv", which must be an absolute path/],
      ["/", /would show the whole machine/],
      ["/srv/../etc", /no \.\. in it/],
      ["/srv/", /no slash at its end/],
      ["/proc/1", /must be outside of \/proc/],
    ] as const)
      refused({ isolation: "namespace", folders: ["/srv/a", { path }] }, reason);
    refused(
      { isolation: "namespace", folders: ["/srv", { path: "/srv", writable: true }] },
      /is declared twice/,
    );
  }
});
