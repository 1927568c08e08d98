import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options: { type: "major" | "minor" }) => void;

const oldBytes = (): number =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => name === "old_space" || name === "large_object_space")
    .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);

/** What came before is no longer on any stack. */
const nextTurn = (): Promise<unknown> => new Promise(setImmediate);

/**
 * Does something so often, after a full collection, and scavenges every hundredth time.
 *
 * @returns the bytes of each time that have come into the old generation, where they stay until the next full collection. What
 * nobody needs any more should not.
 */
export async function bytesThatOutliveScavenges(times: number, work: () => unknown): Promise<number> {
  for (let time = 0; time < 100; time += 1) await work();
  await nextTurn();
  collect({ type: "major" });
  const before = oldBytes();
  for (let time = 1; time <= times; time += 1) {
    await work();
    if (time % 100 > 0) continue;
    await nextTurn();
    collect({ type: "minor" });
  }
  // What has outlived one stays in the new generation until the next.
  collect({ type: "minor" });
  return (oldBytes() - before) / times;
}
