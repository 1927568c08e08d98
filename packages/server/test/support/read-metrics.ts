// What `/metrics` says, in the text format of Prometheus.

export interface ReadMetrics {
  /** Of all metrics, whether they have a sample or not. */
  readonly names: ReadonlySet<string>;
  readonly types: ReadonlyMap<string, string>;
  /** The sum of the samples with these labels; undefined when there is none. */
  valueOf(name: string, labels?: Record<string, string>): number | undefined;
  /** The labels of each sample. */
  labelsOf(name: string): Record<string, string>[];
}

type Sample = { name: string; labels: Record<string, string>; value: number };

export function readMetrics(text: string): ReadMetrics {
  const lines = text.split("\n");
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  for (const line of lines) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) types.set(name, type);
    const sample = readSample(line);
    if (sample !== null) samples.push(sample);
  }
  const withName = (name: string): Sample[] => samples.filter((sample) => sample.name === name);
  return {
    names: new Set(types.keys()),
    types,
    valueOf: (name, labels = {}) => {
      const found = withName(name).filter((sample) =>
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
    labelsOf: (name) => withName(name).map(({ labels }) => labels),
  };
}

function readSample(line: string): Sample | null {
  const [, name, inBraces = "", value] = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
  if (name === undefined || value === undefined) return null;
  const labels = [...inBraces.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = "", text = ""]) => [
    label,
    text,
  ]);
  return { name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(value) };
}
