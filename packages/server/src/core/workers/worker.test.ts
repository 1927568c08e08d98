import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  decideActivate,
  decideDrain,
  decideDrained,
  decideRegister,
  LOST_AFTER_MS,
  WORKER_EDGES,
  workerStatus,
  type StoredWorkerStatus,
  type WorkerDecision,
} from "./worker.ts";

const STATUSES: readonly StoredWorkerStatus[] = ["registered", "active", "draining", "drained"];
const COMMANDS: Record<string, (status: StoredWorkerStatus) => WorkerDecision> = {
  register: decideRegister,
  activate: decideActivate,
  drain: decideDrain,
  "holds no lease": (status) => decideDrained(status, 0),
};

describe("a worker's decisions", () => {
  for (const [command, decide] of Object.entries(COMMANDS)) {
    for (const status of STATUSES) {
      test(`${command} moves a ${status} worker along an edge or not at all`, () => {
        const decision = decide(status);
        const edge = WORKER_EDGES.find((one) => one.from === status && one.on === command);
        assert.equal(decision.kind === "move" ? decision.to : undefined, edge?.to);
      });
    }
  }

  test("a draining worker with leases keeps draining", () => {
    assert.deepEqual(decideDrained("draining", 1), { kind: "none" });
  });

  test("silence makes every worker but a drained one look lost", () => {
    for (const status of STATUSES) {
      assert.equal(workerStatus({ status, lastSeenAt: 0 }, LOST_AFTER_MS), status);
      assert.equal(
        workerStatus({ status, lastSeenAt: 0 }, LOST_AFTER_MS + 1),
        status === "drained" ? "drained" : "lost",
      );
    }
  });
});
