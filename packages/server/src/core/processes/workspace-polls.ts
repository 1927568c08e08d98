import type { Uuid } from "@keelson/contract";
import type { GivenInput } from "./given-inputs.ts";
import type { LiveProcess } from "./look-for-processes.ts";

/**
 * Long polls of workers for what their workspaces lack, inside one replica. A process that is created while the poll of its
 * worker waits here, and input of one that it has, is given to the poll as it was stored, without a look at the database. That is only faster: a poll that
 * ends without its answer being heard is followed by one that looks.
 */
export type WorkspacePolls = {
  /**
   * Opens one, which is given processes until it is closed.
   *
   * @param held all that the worker says it has, as a text: a worker that has begun again, or was given more, is to look first.
   */
  open(workerId: Uuid<"wkr">, held: string): WorkspacePoll;
  /** Gives a process to the polls of the worker that has its workspace live. To be called when the process is durable. */
  give(workerId: Uuid<"wkr">, start: LiveProcess): void;
  /** The same with input, which a poll that follows at once is given as well. */
  giveInput(workerId: Uuid<"wkr">, input: GivenInput): void;
  /** The materialization of the workspace whose worker waits here to begin what it is given; null when none does. */
  takerOf(workspaceId: Uuid<"ws">): Uuid<"mat"> | null;
};

export type Given = { starts: LiveProcess[]; inputs: GivenInput[] };

/** A workspace where a worker has it live. */
export type LivePlace = { workspaceId: Uuid<"ws">; id: Uuid<"mat"> };

export type WorkspacePoll = {
  /** Resolves when the poll was given something that is not taken yet. */
  given(): Promise<void>;
  /** What the poll was given since the last call. */
  take(): Given;
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
/** What is kept for a poll that follows; the rest is found by its look. */
const MAX_KEPT_INPUTS = 64;

type Receiver = { start(start: LiveProcess): void; input(input: GivenInput): void };
type LeftBehind = { held: string; places: readonly LivePlace[]; inRow: number; inputs: GivenInput[] };

const NOTHING_LEFT: Omit<LeftBehind, "held"> = { places: [], inRow: 0, inputs: [] };

/** @param inputs were given to nobody since the last poll. */
function openBox(inputs: readonly GivenInput[]): Receiver & Pick<WorkspacePoll, "given" | "take"> {
  let content: Given = { starts: [], inputs: [...inputs] };
  let given = Promise.withResolvers<void>();
  if (inputs.length > 0) given.resolve();
  return {
    start: (start) => {
      content.starts.push(start);
      given.resolve();
    },
    input: (input) => {
      content.inputs.push(input);
      given.resolve();
    },
    given: () => given.promise,
    take: () => {
      const taken = content;
      content = { starts: [], inputs: [] };
      given = Promise.withResolvers();
      return taken;
    },
  };
}

export function createWorkspacePolls(): WorkspacePolls {
  const byWorker = new Map<string, Set<Receiver>>();
  const takers = new Map<Uuid<"ws">, LivePlace>();
  /** Of workers that are about to poll again. */
  const left = new Map<string, LeftBehind>();
  return {
    open: (workerId, held) => {
      const receivers = byWorker.get(workerId) ?? new Set();
      byWorker.set(workerId, receivers);
      const last = left.get(workerId);
      const { places: before, inRow, inputs } = last?.held === held ? last : NOTHING_LEFT;
      left.delete(workerId);
      const box = openBox(inputs);
      receivers.add(box);
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
        given: box.given,
        take: box.take,
        close: (isGivenAlone) => {
          leave();
          if (isGivenAlone && places.length > 0) {
            const next = { held, places, inRow: hasLooked ? 1 : inRow + 1, inputs: [] };
            left.set(workerId, next);
            setTimeout(() => left.get(workerId) === next && left.delete(workerId), FOLLOWS_WITHIN_MS).unref();
          }
          receivers.delete(box);
          if (receivers.size === 0 && byWorker.get(workerId) === receivers) byWorker.delete(workerId);
        },
      };
    },
    give: (workerId, start) => {
      for (const receiver of byWorker.get(workerId) ?? []) receiver.start(start);
    },
    giveInput: (workerId, input) => {
      const receivers = byWorker.get(workerId);
      for (const receiver of receivers ?? []) receiver.input(input);
      const kept = receivers === undefined ? left.get(workerId)?.inputs : undefined;
      if (kept !== undefined && kept.length < MAX_KEPT_INPUTS) kept.push(input);
    },
    takerOf: (workspaceId) => takers.get(workspaceId)?.id ?? null,
  };
}
