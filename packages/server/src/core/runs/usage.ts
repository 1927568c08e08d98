import type { Uuid } from "@keelson/contract";

/** What runs have used by a model. Costs are billionths of a US dollar; null where nobody said any. */
export type UsageSums = {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  reasoningTokens: number;
  costNanos: number | null;
};

export type ModelUsage = UsageSums & { model: string };

/** What a run says that it used by a model since it said so last. */
export type RunUsage = ModelUsage & { environmentId: Uuid<"env">; runId: Uuid<"run"> };

export const NANOS_PER_USD = 1_000_000_000;

const NOTHING: UsageSums = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  costNanos: null,
};

const addSums = (a: UsageSums, b: UsageSums): UsageSums => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  costNanos: b.costNanos === null ? a.costNanos : (a.costNanos ?? 0) + b.costNanos,
});

export const sumUsage = (models: readonly UsageSums[]): UsageSums => models.reduce(addSums, NOTHING);

/** One of each run and model, in the order of their key. */
export function joinUsage(used: readonly RunUsage[]): RunUsage[] {
  const joined = new Map<string, RunUsage>();
  for (const one of used) {
    const key = `${one.environmentId} ${one.runId} ${one.model}`;
    const before = joined.get(key);
    joined.set(key, before === undefined ? one : { ...one, ...addSums(before, one) });
  }
  return [...joined].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
