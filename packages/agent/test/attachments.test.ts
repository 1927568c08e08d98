// The runs that work in one workspace: they are told of its end, and nothing of one that has ended is kept.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Attachments } from "../src/workspaces/attachments.ts";
import { until } from "../../server/test/support/until.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

describe("the runs of a workspace", () => {
  test("are told when they are to stop, also one that comes too late", async () => {
    const attachments = new Attachments();
    const [first, second] = [attachments.add("run_1"), attachments.add("run_2")];
    let told = 0;
    for (const { gone } of [first, second]) void gone.then(() => (told += 1));
    first.detach();
    attachments.end();
    await second.gone;
    assert.equal(told, 1, "one that had ended is told nothing");
    await attachments.add("run_3").gone;
  });

  test("are not kept by a workspace that is held on when they have ended", async () => {
    const attachments = new Attachments();
    const staying = attachments.add("run_0");
    const ended = ((): WeakRef<object> => {
      const run = { halted: false };
      const { gone, detach } = attachments.add("run_1");
      void gone.then(() => (run.halted = true));
      detach();
      return new WeakRef(run);
    })();
    await until("the ended run is let go of", 60_000, async () => {
      collectGarbage();
      return ended.deref() === undefined;
    });
    assert.equal(attachments.only(), "run_0");
    staying.detach();
    await attachments.none();
  });
});
