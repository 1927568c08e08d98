/**
 * Counts of durations in buckets whose bounds grow by a constant factor. A percentile that is read from them differs from the exact
 * one by at most 5 % and a millisecond.
 */
export type Histogram = Map<number, number>;

/** Of a percentile. */
const MAX_ERROR = 0.05;
const FACTOR = (1 + MAX_ERROR) / (1 - MAX_ERROR);
const LOG_FACTOR = Math.log(FACTOR);
/** Longer ones are in the last bucket: more than a hundred years. */
const MAX_MS = 4e12;

/** Bucket 0 has what took no time; bucket n what is above FACTOR^(n-2) and up to FACTOR^(n-1) milliseconds. */
export function bucketOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return 1 + Math.ceil(Math.log(Math.min(ms, MAX_MS)) / LOG_FACTOR - 1e-9);
}

/** Where bucket 1 and each after it begins: PostgreSQL's `width_bucket(ms, bounds)` is the bucket. */
export const bucketBounds = (): number[] =>
  Array.from({ length: bucketOf(MAX_MS) }, (_, at) =>
    at === 0 ? 1 : Math.exp(LOG_FACTOR * (at - 1 + 1e-9)),
  );

/** The value that is as far from the lower bound as from the upper one, in proportion. */
const valueOf = (bucket: number): number =>
  bucket === 0 ? 0 : Math.max(1, Math.round((2 * FACTOR ** (bucket - 1)) / (1 + FACTOR)));

export function addTo(histogram: Histogram, bucket: number, count: number): void {
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + count);
}

export function addHistogram(to: Histogram, added: Histogram): void {
  for (const [bucket, count] of added) addTo(to, bucket, count);
}

const inOrder = (histogram: Histogram): [number, number][] => [...histogram].sort(([a], [b]) => a - b);

/** @param shares between 0 and 1. @returns for each share the value that so many are not above; null when nothing was observed. */
export function percentilesOf(histogram: Histogram, shares: readonly number[]): number[] | null {
  const buckets = inOrder(histogram);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  return shares.map((share) => {
    let left = Math.max(1, Math.ceil(share * total));
    for (const [bucket, count] of buckets) if ((left -= count) <= 0) return valueOf(bucket);
    return valueOf(buckets.at(-1)?.[0] ?? 0);
  });
}

/**
 * Pairs of a bucket and its count, as numbers of seven bits a byte, the lowest first. A bucket may come more than once: encoded
 * histograms one after the other are their sum, so that PostgreSQL can add up by joining bytes.
 */
export function encodeHistogram(histogram: Histogram): Buffer {
  const bytes: number[] = [];
  const write = (number: number): void => {
    let left = number;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) | 0x80);
    bytes.push(left);
  };
  for (const [bucket, count] of inOrder(histogram)) {
    write(bucket);
    write(count);
  }
  return Buffer.from(bytes);
}

const BUCKETS = bucketOf(MAX_MS) + 1;

/** @throws when the bytes end within a pair, or have a bucket that there is not. */
export function decodeHistogram(bytes: Uint8Array): Histogram {
  const counts = new Float64Array(BUCKETS);
  let at = 0;
  const read = (): number => {
    for (let number = 0, factor = 1; ; factor *= 0x80) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("A histogram that ends within a pair.");
      number += (byte & 0x7f) * factor;
      if (byte < 0x80) return number;
    }
  };
  while (at < bytes.length) {
    const bucket = read();
    if (bucket >= BUCKETS) throw new Error("A histogram with a bucket that there is not.");
    counts[bucket] = (counts[bucket] ?? 0) + read();
  }
  const histogram: Histogram = new Map();
  for (const [bucket, count] of counts.entries()) if (count > 0) histogram.set(bucket, count);
  return histogram;
}
