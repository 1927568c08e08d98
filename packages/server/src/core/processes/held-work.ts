/** A materialization that a worker says it has. Ids are as it wrote them, and may be of nothing. */
export type HeldPlace = { environmentId: string; materializationId: string; epoch: number };

/** The same with what the worker does there. */
export type HeldWork = HeldPlace & {
  /** It knows that it is to stop. */
  stopping: boolean;
  processes: readonly HeldPart[];
};

/** A process, with what the worker has of what was sent to it. */
export type HeldPart = {
  processId: string;
  /** Bytes. */
  inputOffset: number;
  inputClosed: boolean;
  /** Of the last control. */
  controlSequence: number;
};
