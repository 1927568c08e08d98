// The connections of a pool, and what is known of them: who waits, which may be dead, which say nothing.

import pg from "pg";
import { isConnectionError, isSilence } from "./connection-error.ts";
import { CamelCaseClient } from "./camel-case-client.ts";
import { bytesHeard, KEEP_ALIVE_MS, sever } from "./open-session.ts";
import { rowTypes } from "./row-types.ts";
import { MAKE_SESSION_DURABLE, type SessionLimits, withStartupOptions } from "./session-settings.ts";
import { createSlots, type Slots } from "./slots.ts";

export interface ConnectionsOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Behind a transaction pooler a session is set for each transaction instead. */
  readonly isPooled: boolean;
  readonly startupOptions: string | null;
  readonly applicationName: string;
  readonly limits: SessionLimits;
  /** Told of each caller that was given a connection, or given up, how long it had waited. */
  readonly noteWaited: (waitedMs: number) => void;
  readonly onConnectionLost: (error: Error) => void;
}

/** A connection that is used by one caller until it is given back. */
export interface HeldConnection {
  readonly client: pg.PoolClient;
  /** How long its first answer may take: what the caller has waited for the connection is taken off. */
  readonly firstAnswerMs: number;
  /** @param error of a statement or of the connection; a connection that may be broken is not used again. */
  giveBack(error?: Error): void;
}

/** What a connection is taken for: to read, or to write what is confirmed when it is on disk, and on a standby if there is one. */
export type Purpose = "read" | "write";

export interface Connections {
  take(purpose: Purpose): Promise<HeldConnection>;
  counts(): { total: number; idle: number; waiting: number };
  /** How long the caller that waits longest has waited for a connection; 0 when nobody waits. */
  longestWaitMs(): number;
  /** Idle connections may be dead: none that was made before now is used again. */
  distrust(): void;
  /** PostgreSQL is heard again: a connection on which a statement hangs since before is ended when it says nothing now. */
  endSilent(): void;
  close(): Promise<void>;
}

const IDLE_TIMEOUT_MS = 60_000;
/** They stay, however idle: a new connection plans each statement again, which costs 200 ms of processor. */
const KEPT_CONNECTIONS = 4;
/** The part of the connections that is for reading alone: commits that hang leave it free. */
const SHARE_OF_READS = 0.25;
/** How long a connection that hung has for being heard after PostgreSQL was heard on another. */
const HEARD_AGAIN_MS = 1_000;

export function createConnections(options: ConnectionsOptions): Connections {
  const { limits, poolSize } = options;
  const pool = createPool(options);
  const writers = createSlots(poolSize - Math.floor(poolSize * SHARE_OF_READS));
  const madeAt = new WeakMap<pg.PoolClient, number>();
  const held = new Set<pg.PoolClient>();
  // In the order of their coming.
  const waitingSince = new Map<symbol, number>();
  let trustedFrom = Number.NEGATIVE_INFINITY;
  // When somebody was last done with a connection: a queue that moves is worth waiting in.
  let progressAt = Number.NEGATIVE_INFINITY;
  const onGivenBack = (error: Error | undefined): void => {
    if (error === undefined || isOfStatement(error)) progressAt = performance.now();
    if (isSilence(error)) distrust();
  };
  let closing: Promise<void> | undefined;
  pool.on("connect", (client) => madeAt.set(client, performance.now()));
  // Without a listener a lost idle connection would end the process. While closing, connections are meant to go.
  pool.on("error", (error) => {
    if (closing === undefined) options.onConnectionLost(error);
  });
  const distrust = (): void => {
    trustedFrom = performance.now();
  };

  const takeTrusted = async (stalledMs: () => number): Promise<pg.PoolClient> => {
    for (;;) {
      // Who comes first gets an idle one. What of them is not trusted is ended, and then all may have to wait.
      const mustWait = pool.idleCount <= pool.waitingCount && pool.totalCount >= poolSize;
      const client = mustWait
        ? await unlessStalled(pool.connect(), (late) => late.release(), stalledMs, limits.stalledMs)
        : await pool.connect();
      if ((madeAt.get(client) ?? 0) >= trustedFrom) return client;
      sever(client);
      client.release(true);
    }
  };
  return {
    take: async (purpose) => {
      const key = Symbol("waiting");
      const begun = performance.now();
      let giveSlotBack = nothing;
      try {
        const stalledMs = (): number => performance.now() - Math.max(begun, progressAt);
        if (purpose === "write") giveSlotBack = await takeSlot(writers, stalledMs, limits.stalledMs);
        // Those that wait for others to write say nothing of whether a read gets a connection.
        waitingSince.set(key, performance.now());
        const client = await takeTrusted(stalledMs);
        const firstAnswerMs = Math.min(limits.answerMs, Math.max(1_000, limits.firstAnswerMs - stalledMs()));
        return { firstAnswerMs, ...hold(client, held, onGivenBack, giveSlotBack) };
      } catch (error) {
        giveSlotBack();
        throw error;
      } finally {
        waitingSince.delete(key);
        options.noteWaited(performance.now() - begun);
      }
    },
    counts: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    longestWaitMs: () => {
      const [first] = waitingSince.values();
      return first === undefined ? 0 : performance.now() - first;
    },
    distrust,
    endSilent: () => endSilent(held, limits.answerMs),
    close: () => (closing ??= pool.end()),
  };
}

/** Gives the connections under way a moment, and ends those that were not heard in it. */
function endSilent(held: ReadonlySet<pg.PoolClient>, answerMs: number): void {
  const heardBefore = [...held].map((client) => ({ client, bytes: bytesHeard(client) }));
  setTimeout(
    () => {
      for (const { client, bytes } of heardBefore)
        if (held.has(client) && bytesHeard(client) === bytes) sever(client);
    },
    Math.min(HEARD_AGAIN_MS, answerMs),
  ).unref();
}

/** Checks a connection out of the pool, which does not listen to it meanwhile. */
function hold(
  client: pg.PoolClient,
  held: Set<pg.PoolClient>,
  onGivenBack: (error: Error | undefined) => void,
  giveSlotBack: () => void,
): Omit<HeldConnection, "firstAnswerMs"> {
  // A lost connection also fails the running statement.
  let lost: Error | undefined;
  const onError = (error: Error): void => {
    lost = error;
  };
  client.on("error", onError);
  held.add(client);
  return {
    client,
    giveBack: (error) => {
      held.delete(client);
      if (isSilence(error)) sever(client);
      onGivenBack(error);
      client.off("error", onError);
      client.release(lost ?? (isOfStatement(error) ? undefined : error));
      giveSlotBack();
    },
  };
}

const nothing = (): void => undefined;

/** @returns what gives it back */
async function takeSlot(slots: Slots, stalledMs: () => number, maxMs: number): Promise<() => void> {
  await unlessStalled(slots.take(), slots.giveBack, stalledMs, maxMs);
  return slots.giveBack;
}

/** Rejects when nobody was done with a connection for too long; what comes later is given back, for somebody else. */
async function unlessStalled<Taken>(
  taken: Promise<Taken>,
  giveBack: (late: Taken) => void,
  stalledMs: () => number,
  maxMs: number,
): Promise<Taken> {
  const stalled = Promise.withResolvers<never>();
  let isLate = false;
  const look = (): void => {
    const leftMs = maxMs - stalledMs();
    if (leftMs > 0) return void (timer = setTimeout(look, leftMs + 1));
    isLate = true;
    stalled.reject(new Error(STALLED));
  };
  // What was waited for before counts, too.
  let timer = setTimeout(look, Math.max(1, maxMs - stalledMs()));
  taken.then(
    (late) => isLate && giveBack(late),
    () => undefined,
  );
  try {
    return await Promise.race([taken, stalled.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** As the driver says it when the time is over that a caller may wait in all. */
const STALLED = "timeout exceeded when trying to connect: no connection was given back";

/** PostgreSQL refused a statement; its connection is as good as before. */
const isOfStatement = (error: Error | undefined): boolean =>
  error instanceof pg.DatabaseError && !isConnectionError(error);

function createPool({ limits, ...options }: ConnectionsOptions): pg.Pool {
  return new pg.Pool({
    connectionString:
      options.startupOptions === null ? options.url : withStartupOptions(options.url, options.startupOptions),
    max: options.poolSize,
    min: Math.min(KEPT_CONNECTIONS, options.poolSize),
    application_name: options.applicationName,
    types: rowTypes,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: limits.poolWaitMs,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // Statements are sent without waiting for the answers to those before them: see `flight.ts`.
    pipeline: true,
    Client: class extends CamelCaseClient {
      constructor(config?: pg.ClientConfig) {
        // The pool's own time is for waiting in its queue.
        super({ ...config, connectionTimeoutMillis: limits.connectMs });
      }
    },
    ...(!options.isPooled && {
      onConnect: (client: pg.ClientBase) =>
        client.query({
          text: MAKE_SESSION_DURABLE,
          query_timeout: limits.connectMs,
        } as pg.QueryConfig) as unknown as void,
    }),
  });
}
