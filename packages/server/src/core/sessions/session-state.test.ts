import assert from "node:assert/strict";
import { test } from "node:test";
import { decideSetState } from "./session-state.ts";

test("a state is set as the next version, where it has the version that was asked for", () => {
  for (const version of [0, 1, 7]) {
    assert.deepEqual(decideSetState(version, null), { kind: "set", version: version + 1 });
    assert.deepEqual(decideSetState(version, version), { kind: "set", version: version + 1 });
    for (const other of [version + 1, version + 3, Math.abs(version - 1)])
      assert.equal(decideSetState(version, other).kind, "conflict");
  }
});
