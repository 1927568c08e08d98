import type { Uuid } from "@keelson/contract";
import type { LiveProcess } from "./look-for-processes.ts";

/**
 * Long polls of workers for what their workspaces lack, inside one replica. A process that is created while the poll of its
 * worker waits here is given to the poll as it was stored, without a look at the database. That is only faster: a poll that
 * ends without its answer being heard is followed by one that looks.
 */
export type WorkspacePolls = {
  /** Opens one, which is given processes until it is closed. */
  open(workerId: Uuid<"wkr">): WorkspacePoll;
  /** Gives a process to the polls of the worker that has its workspace live. To be called when the process is durable. */
  give(workerId: Uuid<"wkr">, start: LiveProcess): void;
  /** The materialization of the workspace whose worker waits here to begin what it is given; null when none does. */
  takerOf(workspaceId: Uuid<"ws">): Uuid<"mat"> | null;
};

/** A workspace where a worker has it live. */
export type LivePlace = { workspaceId: Uuid<"ws">; id: Uuid<"mat"> };

export type WorkspacePoll = {
  /** Resolves when the poll was given a process that is not taken yet. */
  given(): Promise<void>;
  /** What the poll was given since the last call. */
  take(): LiveProcess[];
  /** Says for which workspaces it begins what it is given, until it is closed. Called after each look. */
  beginsIn(live: readonly LivePlace[]): void;
  /** The last poll of the worker was answered with what it was given alone: this one begins that in the same workspaces. */
  isFollowUp: boolean;
  /** @param isGivenAlone its answer is nothing but what it was given. */
  close(isGivenAlone: boolean): void;
};

const FOLLOWS_WITHIN_MS = 1_000;
/** Then the database is looked at: there may be more than what is given. */
const MAX_IN_ROW = 5;

export function createWorkspacePolls(): WorkspacePolls {
  const byWorker = new Map<string, Set<(start: LiveProcess) => void>>();
  const takers = new Map<Uuid<"ws">, LivePlace>();
  /** Of workers that are about to poll again. */
  const left = new Map<string, { places: readonly LivePlace[]; inRow: number }>();
  return {
    open: (workerId) => {
      const receivers = byWorker.get(workerId) ?? new Set();
      byWorker.set(workerId, receivers);
      let starts: LiveProcess[] = [];
      let given = Promise.withResolvers<void>();
      const receive = (start: LiveProcess): void => {
        starts.push(start);
        given.resolve();
      };
      receivers.add(receive);
      const { places: before, inRow } = left.get(workerId) ?? { places: [], inRow: 0 };
      left.delete(workerId);
      let places: readonly LivePlace[] = [];
      // Not what a poll that was opened since has said.
      const leave = (): void => {
        for (const place of places)
          if (takers.get(place.workspaceId) === place) takers.delete(place.workspaceId);
      };
      const beginsIn = (live: readonly LivePlace[]): void => {
        leave();
        places = live;
        for (const place of live) takers.set(place.workspaceId, place);
      };
      beginsIn(before);
      let hasLooked = false;
      return {
        beginsIn: (live) => {
          hasLooked = true;
          beginsIn(live);
        },
        isFollowUp: before.length > 0 && inRow < MAX_IN_ROW,
        given: () => given.promise,
        take: () => {
          const taken = starts;
          starts = [];
          given = Promise.withResolvers();
          return taken;
        },
        close: (isGivenAlone) => {
          leave();
          if (isGivenAlone && places.length > 0) {
            const next = { places, inRow: hasLooked ? 1 : inRow + 1 };
            left.set(workerId, next);
            setTimeout(() => left.get(workerId) === next && left.delete(workerId), FOLLOWS_WITHIN_MS).unref();
          }
          receivers.delete(receive);
          if (receivers.size === 0 && byWorker.get(workerId) === receivers) byWorker.delete(workerId);
        },
      };
    },
    give: (workerId, start) => {
      for (const receive of byWorker.get(workerId) ?? []) receive(start);
    },
    takerOf: (workspaceId) => takers.get(workspaceId)?.id ?? null,
  };
}
