import type { Clock } from "../clock.ts";
import { failUncheckedDeployments } from "../core/deployments/fail-unchecked-deployments.ts";
import { listGroupsWithExpiredChecks } from "../core/deployments/deployment-reads.ts";
import { wakeKeys, type Wakes } from "../core/feeds/wakes.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

export type DeploymentLoopContext = { db: Database; clock: Clock; wakes: Wakes };

/** Offers deployments whose worker did not answer to the others; after the last allowed check they fail. */
export function deploymentLoops({ db, clock, wakes }: DeploymentLoopContext): LoopWork[] {
  return [
    {
      name: "offer-expired-checks",
      intervalMs: 5_000,
      run: async () => {
        const workerGroupIds = await listGroupsWithExpiredChecks(db, clock());
        if (workerGroupIds.length === 0) return;
        for (const deploymentId of await db.transaction((tx) => failUncheckedDeployments(tx, clock())))
          wakes.wake(wakeKeys.deployment(deploymentId));
        for (const workerGroupId of workerGroupIds) wakes.wake(wakeKeys.work(workerGroupId));
      },
    },
  ];
}
