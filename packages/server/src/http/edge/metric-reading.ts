import { headOf, inBraces, type Described } from "./metric-series.ts";

/** Gauges that are read together, by one question to the database. */
export type Reading = {
  /** Names it where a failure is counted. */
  name: string;
  gauges: readonly Described[];
  /** Null: the number is not known, and has no sample. */
  read: () => Promise<readonly Sample[]>;
  /** How long what was read is shown, in milliseconds. Default: ten seconds. */
  keptMs?: number;
};

export type Sample = { name: string; labels?: string; value: number | null };

/** Several scrapers, and a person who reloads a page, cost no more than one. */
const KEPT_MS = 10_000;
/** A scrape is given up by Prometheus after 10 s, and one slow number is not worth the others. */
export const PATIENCE_MS = 2_000;

/**
 * What a reading said, as the lines of `/metrics`. It is read when somebody asks, at most every ten seconds or `keptMs`, by one question
 * at a time. A reading that fails or takes too long is left out and told to `noteFailure`; the next scrape may have it.
 */
export function createReading(
  { gauges, read, keptMs = KEPT_MS }: Reading,
  noteFailure: (error: unknown) => void,
): { render(): Promise<string[]> } {
  let kept: { at: number; samples: readonly Sample[] } | null = null;
  let running: Promise<void> | null = null;
  const isFresh = (): boolean => kept !== null && performance.now() - kept.at < keptMs;
  const readOnce = async (): Promise<void> => {
    try {
      const samples = await read();
      kept = { at: performance.now(), samples };
    } catch (error) {
      noteFailure(error);
    } finally {
      running = null;
    }
  };
  return {
    render: async () => {
      if (!isFresh()) {
        running ??= readOnce();
        if (!(await isDoneIn(running, PATIENCE_MS)))
          noteFailure(new Error(`The reading took longer than ${PATIENCE_MS} ms.`));
      }
      return kept === null || !isFresh() ? [] : linesOf(gauges, kept.samples);
    },
  };
}

/** False when the time is over first. */
export async function isDoneIn(work: Promise<unknown>, patienceMs: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), patienceMs);
  const isDone = await Promise.race([work.then(() => true), late.promise]);
  clearTimeout(timer);
  return isDone;
}

function linesOf(gauges: readonly Described[], samples: readonly Sample[]): string[] {
  return gauges.flatMap((gauge) => {
    const known = samples.flatMap(({ name, labels = "", value }) =>
      name === gauge.name && value !== null ? [`${name}${inBraces(labels)} ${value}`] : [],
    );
    return [...headOf(gauge, "gauge"), ...known];
  });
}
