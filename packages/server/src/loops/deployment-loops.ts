import { listGroupsWithExpiredChecks } from "../core/deployments/deployment-reads.ts";
import { interruptSilentChecks } from "../core/deployments/interrupt-silent-checks.ts";
import { collectBundles, type CollectBundlesContext } from "../core/bundles/collect-bundles.ts";
import { wakeKeys } from "../core/feeds/wake-keys.ts";
import type { Wakes } from "../core/feeds/wakes.ts";
import type { LoopWork } from "./loop.ts";

export type DeploymentLoopContext = CollectBundlesContext & { wakes: Wakes };

/** Offers deployments whose check was interrupted again, also by the silence of its worker. Removes what no deployment has. */
export function deploymentLoops(context: DeploymentLoopContext): LoopWork[] {
  const { db, clock, wakes } = context;
  return [
    {
      name: "offer-expired-checks",
      intervalMs: 5_000,
      needs: "watched-silence",
      run: async () => {
        const workerGroupIds = await listGroupsWithExpiredChecks(db, clock());
        if (workerGroupIds.length === 0) return;
        await interruptSilentChecks(context);
        for (const workerGroupId of workerGroupIds) wakes.wake(wakeKeys.work(workerGroupId));
      },
    },
    {
      name: "collect-bundles",
      intervalMs: 60_000,
      needs: "settled-time",
      run: async () => {
        let round;
        do round = await collectBundles(context);
        while (round.mayHaveMore);
      },
    },
  ];
}
