import type { DurableCall, EffectResult, MessageEnd } from "@keelson/contract";
import { newMessageId } from "./client/random.ts";
import type { CurrentRun } from "./current-run.ts";
import { InterruptedError } from "./durable-errors.ts";
import type { JsonOf } from "./json-type.ts";
import { pipePieces, untilAborted, type Pieces } from "./pipe-pieces.ts";

/** A message that `pipe()` writes. */
export type PipedMessage = {
  /** Its id, as readers see it. */
  readonly id: string;
  /** Aborted when the message is interrupted, and when the run is to stop. */
  readonly signal: AbortSignal;
};

/** Makes the pieces of a message. */
export type PiecesOf<P> = (message: PipedMessage) => Pieces<P> | Promise<Pieces<P>>;

/** All pieces of a message. */
export type Piped<P> = JsonOf<P>[] & {
  /** Somebody stopped it: there would have been more. Not enumerable. */
  readonly interrupted: boolean;
};

/** As a journal has it: what was interrupted says so. */
export type StoredPieces<P> = JsonOf<P>[] | { interrupted: true; pieces: JsonOf<P>[] };

export function toPiped<P>(pieces: JsonOf<P>[], interrupted: boolean): Piped<P> {
  return Object.defineProperty(pieces, "interrupted", { value: interrupted }) as Piped<P>;
}

export const toStored = <P>(pieces: Piped<P>): StoredPieces<P> =>
  pieces.interrupted ? { interrupted: true, pieces } : pieces;

export const fromStored = <P>(stored: StoredPieces<P>): Piped<P> =>
  Array.isArray(stored) ? toPiped<P>(stored, false) : toPiped<P>(stored.pieces, true);

type OutputsCall = Extract<DurableCall, { kind: "outputs" }>;

/** What a message is made of. */
export type MessageParts<P> = {
  pieces: Pieces<P> | PiecesOf<P>;
  toRecord: (piece: P) => OutputsCall["records"][number];
  /** Says something of the message, with its next pieces. */
  say: (message: NonNullable<OutputsCall["message"]>, records: OutputsCall["records"]) => OutputsCall;
  /** Of all pieces as JSON. */
  maxBytes: number;
};

/**
 * Writes a message, from its first piece to its end. Each try writes one of its own: pieces of one that broke off are none of the
 * next one's.
 */
export function writeMessage<P>(
  { run, nameMessage }: CurrentRun,
  { pieces, toRecord, say, maxBytes }: MessageParts<P>,
): Promise<Piped<P>> {
  const id = newMessageId();
  const name = nameMessage?.() ?? null;
  return run.messages.piping(id, name, async (interrupt) => {
    let isOpen = false;
    let taken = 0;
    const append = async (batch: readonly P[]): Promise<void> => {
      const begins = { id, begins: true, ...(name !== null && { call: name }) } as const;
      const answer = await run.unjournaled(say(taken === 0 ? begins : { id }, batch.map(toRecord)));
      isOpen = !isEnded(answer);
      if (isOpen) taken += batch.length;
      else interrupt.abort(new InterruptedError());
    };
    const end = async (status: MessageEnd): Promise<void> => {
      if (isOpen) await run.unjournaled(say({ id, ends: status }, []));
    };
    const open = (): Pieces<P> | Promise<Pieces<P>> => {
      if (typeof pieces !== "function") return pieces;
      return pieces({ id, signal: AbortSignal.any([run.signal, interrupt.signal]) });
    };
    try {
      const all = await pipePieces(untilAborted(open, interrupt.signal), append, maxBytes);
      const { aborted } = interrupt.signal;
      await end(aborted ? "interrupted" : "complete");
      return toPiped<P>(all.slice(0, taken), aborted);
    } catch (error) {
      // Where it cannot be said, the server ends the message with the run. What went wrong first is what is told.
      await end(run.signal.aborted ? "interrupted" : "failed").catch(() => undefined);
      throw error;
    }
  });
}

/** The server takes nothing more of the message. */
export const isEnded = (answer: EffectResult | null): boolean =>
  (answer?.value as { ended?: boolean } | null | undefined)?.ended === true;
