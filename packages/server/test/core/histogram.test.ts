import assert from "node:assert/strict";
import { test } from "node:test";
import { newSeed, seededRandom } from "../support/seeded-random.ts";
import {
  bucketBounds,
  addHistogram,
  addTo,
  bucketOf,
  decodeHistogram,
  encodeHistogram,
  percentilesOf,
  type Histogram,
} from "../../src/core/histogram.ts";

const SHARES = [0, 0.5, 0.9, 0.95, 0.99, 1];

const histogramOf = (values: readonly number[]): Histogram => {
  const histogram: Histogram = new Map();
  for (const value of values) addTo(histogram, bucketOf(value), 1);
  return histogram;
};

/** The smallest value that so large a share is not above. */
function exact(values: readonly number[], share: number): number {
  const ordered = values.toSorted((a, b) => a - b);
  return ordered[Math.max(1, Math.ceil(share * ordered.length)) - 1] ?? 0;
}

test("percentiles differ by at most 5 % and a millisecond from the exact ones, whatever the values", (t) => {
  const seed = newSeed();
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 200; round += 1) {
    const spread = 1 + random() * 22;
    const values = Array.from({ length: 1 + Math.floor(random() * 500) }, () =>
      Math.floor(Math.exp(random() * spread)),
    );
    const found = percentilesOf(histogramOf(values), SHARES) ?? [];
    for (const [index, share] of SHARES.entries()) {
      const wanted = exact(values, share);
      const error = Math.abs((found[index] ?? 0) - wanted);
      assert.ok(error <= wanted * 0.05 + 1, `${found[index]} instead of ${wanted} for ${share}`);
    }
  }
});

test("of nothing there are no percentiles, and what took no time, or less, is nothing", () => {
  assert.equal(percentilesOf(new Map(), [0.5]), null);
  assert.deepEqual(percentilesOf(histogramOf([0, -5, Number.NaN]), [0.5, 1]), [0, 0]);
  assert.deepEqual(percentilesOf(histogramOf([1]), [0.5]), [1]);
});

test("the bounds of the buckets are those by which PostgreSQL finds a bucket", () => {
  const bounds = bucketBounds();
  const widthBucket = (ms: number): number => bounds.filter((bound) => bound <= ms).length;
  const values = [-1, 0, 0.999, 1, 1.001, 4e12, 4.1e12, 1e15];
  for (let ms = 0; ms < 3_000; ms += 1) values.push(ms, ms + 0.5, ms * ms * 31);
  for (const ms of values) assert.equal(widthBucket(ms), bucketOf(ms), String(ms));
});

test("what is encoded is decoded, and sums are those of all values", () => {
  const values = [0, 1, 2, 1_000, 1_000, 86_400_000, 1e15];
  const histogram = histogramOf(values);
  assert.deepEqual(
    decodeHistogram(encodeHistogram(histogram)),
    new Map([...histogram].sort(([a], [b]) => a - b)),
  );
  const large: Histogram = new Map([[7, 2 ** 40]]);
  assert.deepEqual(decodeHistogram(encodeHistogram(large)), large);
  assert.deepEqual(decodeHistogram(encodeHistogram(new Map())), new Map());
  const sum = histogramOf(values.slice(0, 3));
  addHistogram(sum, histogramOf(values.slice(3)));
  assert.deepEqual(encodeHistogram(sum), encodeHistogram(histogram));
  const parts = [values.slice(0, 5), values.slice(5)].map((part) => encodeHistogram(histogramOf(part)));
  assert.deepEqual(decodeHistogram(Buffer.concat(parts)), decodeHistogram(encodeHistogram(histogram)));
  assert.throws(() => decodeHistogram(Buffer.from([0x81])), /ends within a pair/);
  assert.throws(() => decodeHistogram(Buffer.from([0xff, 0x7f, 1])), /bucket that there is not/);
});
