/** The value below which `fraction` of the samples lie, by the nearest rank; NaN of no samples. */
export function percentile(samples: readonly number[] | Float64Array, fraction: number): number {
  const sorted = Float64Array.from(samples).sort();
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(fraction * sorted.length) - 1))] as number;
}

export const median = (samples: readonly number[]): number => {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

/** Milliseconds of the machine's monotonic clock, which all processes share; with fractions. */
export const machineNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
