/**
 * Numbers that the hot path adds to, and their text for Prometheus. A label set is resolved once and its series is kept: a
 * look-up by labels at each event costs more than everything else that is counted.
 */

/** A number that only grows: whoever counts adds to `value`. */
export type Counter = { value: number };

export type Histogram = { observe(seconds: number): void };

/** All series of one metric. */
export type Family<Series> = {
  /** The series with these values, in the order of the label names. The same values give the same series. */
  of(...values: string[]): Series;
};

export type Described = { readonly name: string; readonly help: string };

/** A part of what `/metrics` answers: lines of the text format 0.0.4, none of them empty. */
export type Rendered = { render(): string[] };

/** Stands for all values beyond the most that are kept apart. */
export const OTHER = "other";

export function createCounters(
  described: Described,
  labelNames: readonly string[],
): Family<Counter> & Rendered {
  const { of, all } = keepSeries(labelNames, (): Counter => ({ value: 0 }));
  return {
    of,
    render: () => [
      ...headOf(described, "counter"),
      ...all().map(({ labels, series }) => `${described.name}${inBraces(labels)} ${series.value}`),
    ],
  };
}

/** @param bounds upper bounds of the buckets in seconds, ascending */
export function createHistograms(
  described: Described,
  labelNames: readonly string[],
  bounds: readonly number[],
): Family<Histogram> & Rendered {
  const { of, all } = keepSeries(labelNames, () => createHistogram(bounds));
  return {
    of,
    render: () => [
      ...headOf(described, "histogram"),
      ...all().flatMap(({ labels, series }) => series.lines(described.name, labels)),
    ],
  };
}

export const headOf = ({ name, help }: Described, type: "counter" | "gauge" | "histogram"): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

export const inBraces = (labels: string): string => (labels === "" ? "" : `{${labels}}`);

/** In the text format, a value has these three escaped. */
export const labelsOf = (names: readonly string[], values: readonly string[]): string =>
  names
    .map(
      (name, index) =>
        `${name}="${(values[index] ?? "").replace(/[\\"\n]/g, (sign) => ESCAPED[sign] ?? "")}"`,
    )
    .join(",");

const ESCAPED: Record<string, string> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function keepSeries<Series>(labelNames: readonly string[], make: () => Series) {
  const kept = new Map<string, { labels: string; series: Series }>();
  return {
    of: (...values: string[]): Series => {
      const labels = labelsOf(labelNames, values);
      const known = kept.get(labels);
      if (known !== undefined) return known.series;
      const series = make();
      kept.set(labels, { labels, series });
      return series;
    },
    all: () => [...kept.values()],
  };
}

function createHistogram(bounds: readonly number[]): Histogram & {
  lines(name: string, labels: string): string[];
} {
  const counts = bounds.map(() => 0);
  let sum = 0;
  let count = 0;
  return {
    observe: (seconds) => {
      sum += seconds;
      count += 1;
      for (let i = 0; i < bounds.length; i += 1) {
        if (seconds <= (bounds[i] as number)) {
          counts[i] = (counts[i] as number) + 1;
          return;
        }
      }
    },
    lines: (name, labels) => {
      const before = labels === "" ? "" : `${labels},`;
      let upTo = 0;
      const buckets = bounds.map((bound, index) => {
        upTo += counts[index] as number;
        return `${name}_bucket{${before}le="${bound}"} ${upTo}`;
      });
      return [
        ...buckets,
        `${name}_bucket{${before}le="+Inf"} ${count}`,
        `${name}_sum${inBraces(labels)} ${sum}`,
        `${name}_count${inBraces(labels)} ${count}`,
      ];
    },
  };
}

/**
 * Keeps what was made for each list of values, up to `max` lists: the values are names that users choose, and a metric with a
 * series for each of a million names makes Prometheus fail. All further lists share one, made for `OTHER` in every place.
 */
export function keepBounded<Values extends string[], Kept>(
  max: number,
  make: (...values: Values) => Kept,
): (...values: Values) => Kept {
  const kept = new Map<string, Kept>();
  let other: Kept | undefined;
  return (...values) => {
    const key = values.join("\n");
    const known = kept.get(key);
    if (known !== undefined) return known;
    if (kept.size >= max) return (other ??= make(...(values.map(() => OTHER) as Values)));
    const made = make(...values);
    kept.set(key, made);
    return made;
  };
}
