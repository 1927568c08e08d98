/**
 * What an environment may have at once. The server has defaults, and an operator may set others for one environment; 0 is
 * unlimited. What there is, is known from reads that many requests share, so a quota can be passed by what comes in
 * between: nothing that was accepted is taken back.
 */
export type Quotas = {
  liveRuns: number;
  eventStreams: number;
  storedBytes: number;
};

/** Null: the server's default. */
export type QuotaOverrides = { [Name in keyof Quotas]: number | null };

export const hasRoom = (limit: number, used: number): boolean => limit === 0 || used < limit;
