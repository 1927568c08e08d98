import type { DurableCall } from "@keelson/contract";
import { DEFAULT_OUTPUT_STREAM, LIMITS } from "@keelson/contract/plain";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { pipePieces } from "./pipe-pieces.ts";
import type { DurableRun } from "./runtime/durable/durable-run.ts";
import { runTries } from "./runtime/durable/run-tries.ts";
import { toJsonValue } from "./runtime/output.ts";
import { checkStreamName } from "./session-input.ts";

/** Options of `append()` and `pipe()`. */
export type AppendOptions = {
  /**
   * Ties the records of one exchange together; readers can ask for one exchange alone. Up to 256 bytes. That of an input
   * record can be given as it is.
   */
  correlationId?: string | null | undefined;
  /** A media type that says how the data is meant. */
  contentType?: string | null | undefined;
};

/** One output stream. */
export type OutputChannel = {
  /** The stream's name. */
  readonly name: string;
  /**
   * Appends a record of up to 256 KiB of JSON, once; resolves when readers can have it. Inside a step it happens again
   * when the step does. Rejects with `RefusedError` when the session has ended.
   */
  append(data: unknown, options?: AppendOptions): Promise<void>;
  /**
   * Appends each piece as it comes, and resolves with all pieces when there are no more. Outside of a step this is one
   * durable call, as a step named like the stream: replayed, it takes nothing from `pieces`. There the pieces may be
   * 512 KiB of JSON in all; pipe more than that inside a step.
   */
  pipe<T>(pieces: AsyncIterable<T> | Iterable<T>, options?: AppendOptions): Promise<T[]>;
};

/** The default channel; called with a name it is the channel of that name. */
export type SessionOutput = OutputChannel & ((name: string) => OutputChannel);

type OutputsCall = Extract<DurableCall, { kind: "outputs" }>;
export type OutputRecord = OutputsCall["records"][number];

/** A record as the wire has it. Throws a TypeError for data that is no JSON or too much. */
export const toRecord = (data: unknown, { correlationId, contentType }: AppendOptions): OutputRecord => ({
  data: toJsonValue(data, "The record", LIMITS.recordBytes),
  ...(typeof correlationId === "string" && { correlation_id: correlationId }),
  ...(typeof contentType === "string" && { content_type: contentType }),
});

function createChannel(locate: LocateRun, name: string): OutputChannel {
  const find = (method: string): { run: DurableRun; step: string | null } => {
    const current = locate(`session.output("${name}").${method}()`);
    if (current.run.input.session === null)
      throw new Error("This run belongs to no session, so it has no output streams");
    return current;
  };
  const call = (position: number | null, records: OutputRecord[]): OutputsCall => ({
    kind: "outputs",
    position,
    stream: name,
    records,
  });
  return {
    name,
    async append(data, options = {}) {
      const { run, step } = find("append");
      const records = [toRecord(data, options)];
      // A stopped run may still say a last word, which no journal needs.
      if (step !== null || run.signal.aborted) await run.unjournaled(call(null, records));
      else await run.effect("output", name, (position) => call(position, records));
    },
    async pipe<T>(pieces: AsyncIterable<T> | Iterable<T>, options: AppendOptions = {}): Promise<T[]> {
      const { run, step } = find("pipe");
      const append = async (batch: readonly T[]): Promise<void> => {
        await run.unjournaled(
          call(
            null,
            batch.map((piece) => toRecord(piece, options)),
          ),
        );
      };
      if (step !== null) return pipePieces(pieces, append, Number.POSITIVE_INFINITY);
      const outside = locateOutsideStep(locate, `session.output("${name}").pipe()`);
      return outside.step<T[]>(name, () =>
        runTries(outside, name, () => pipePieces(pieces, append, LIMITS.journalValueBytes), undefined),
      );
    },
  };
}

export function createSessionOutput(locate: LocateRun): SessionOutput {
  const named = (name: string): OutputChannel => createChannel(locate, checkStreamName(name));
  const { append, pipe } = createChannel(locate, DEFAULT_OUTPUT_STREAM);
  Object.defineProperty(named, "name", { value: DEFAULT_OUTPUT_STREAM });
  return Object.assign(named, { append, pipe });
}
