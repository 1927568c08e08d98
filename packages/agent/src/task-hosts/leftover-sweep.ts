import { endMarked, listBorneIds } from "../sandboxes/find-processes.ts";

/**
 * Ends what ended task hosts left running in process groups of their own. A look at all processes of the machine serves
 * all hosts that have ended by then; as a rule it finds nothing.
 *
 * @returns what ends what the host of an id left; it gives the processes that could not be ended.
 */
export function createLeftoverSweep(owner: string): (id: string) => Promise<number[]> {
  let waiting: { id: string; resolve(left: number[]): void }[] = [];
  let isLooking = false;

  const look = async (): Promise<void> => {
    isLooking = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const borne = await listBorneIds(owner);
      for (const { id, resolve } of batch)
        resolve(borne.has(id) ? await endMarked({ owner, processId: id, uid: null }) : []);
    }
    isLooking = false;
  };

  return (id) =>
    new Promise((resolve) => {
      waiting.push({ id, resolve });
      if (!isLooking) void look();
    });
}
