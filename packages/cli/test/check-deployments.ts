import assert from "node:assert/strict";
import type { RunScene } from "../../server/test/support/run-scene.ts";

/** A worker that loads every bundle, in whichever environment, until `signal` aborts. */
export async function checkDeployments({ worker, server }: RunScene, signal: AbortSignal): Promise<void> {
  const { project_id, user_token: as } = server.credentials;
  for (let i = 0; !signal.aborted; i += 1) {
    const { deployment_checks: checks } = await worker.lease({
      limit: 0,
      wait: "1s",
      requestId: `check-${i}`,
    });
    for (const { deployment_id, check_id, environment_id } of checks) {
      const place = `project_id=${project_id}&environment_id=${environment_id}`;
      const { body } = await server.call("GET", `/api/deployments/${deployment_id}?${place}`, { as });
      const declaredOf = (kind: string): { kind: string; declared_id: string }[] =>
        body[`${kind}s`].map(({ id }: { id: string }) => ({ kind, declared_id: id }));
      const settled = await worker.call("POST", "/deployments/checked", {
        deployment_id,
        check_id,
        status: "ready",
        entrypoints: [...declaredOf("task"), ...declaredOf("actor")],
      });
      assert.equal(settled.status, 200, settled.text);
    }
  }
}
