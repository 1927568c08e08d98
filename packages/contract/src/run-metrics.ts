/** How far back the metrics of runs go. */
export const RUN_METRICS_WINDOWS = ["1h", "24h", "7d", "30d"] as const;
export type RunMetricsWindow = (typeof RUN_METRICS_WINDOWS)[number];
export const RUN_METRICS_WINDOW_DEFAULT: RunMetricsWindow = "24h";
