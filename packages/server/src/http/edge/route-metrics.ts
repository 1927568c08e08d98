/** Counters of one route; the label is its pattern, never an id. */
export type RouteMetrics = { observe(status: number, durationMs: number): void };

const BUCKETS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000];

type RouteCounts = {
  labels: string;
  byStatus: Map<number, number>;
  buckets: number[];
  sumMs: number;
  count: number;
};

/** Requests by route, in plain arrays: each request is counted, whatever else the server does. */
export function createRouteMetrics(): {
  route(method: string, pattern: string): RouteMetrics;
  render(): string[];
} {
  const routes: RouteCounts[] = [];
  return {
    route: (method, pattern) => {
      const counts: RouteCounts = {
        labels: `method="${method}",route="${pattern}"`,
        byStatus: new Map(),
        buckets: BUCKETS_MS.map(() => 0),
        sumMs: 0,
        count: 0,
      };
      routes.push(counts);
      return { observe: (status, durationMs) => observe(counts, status, durationMs) };
    },
    render: () => renderRoutes(routes.filter(({ count }) => count > 0)),
  };
}

function observe(counts: RouteCounts, status: number, durationMs: number): void {
  counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
  counts.count += 1;
  counts.sumMs += durationMs;
  const { buckets } = counts;
  for (let i = 0; i < BUCKETS_MS.length; i += 1) {
    if (durationMs <= (BUCKETS_MS[i] as number)) {
      buckets[i] = (buckets[i] as number) + 1;
      return;
    }
  }
}

function renderRoutes(routes: readonly RouteCounts[]): string[] {
  const lines = [
    "# HELP keelson_http_requests_total Requests answered.",
    "# TYPE keelson_http_requests_total counter",
  ];
  for (const { labels, byStatus } of routes) {
    for (const [status, count] of byStatus)
      lines.push(`keelson_http_requests_total{${labels},status="${status}"} ${count}`);
  }
  const name = "keelson_http_request_duration_seconds";
  lines.push(`# HELP ${name} Time to the end of the answer.`, `# TYPE ${name} histogram`);
  for (const { labels, buckets, sumMs, count } of routes) {
    let upTo = 0;
    for (const [index, limitMs] of BUCKETS_MS.entries()) {
      upTo += buckets[index] as number;
      lines.push(`${name}_bucket{${labels},le="${limitMs / 1000}"} ${upTo}`);
    }
    lines.push(
      `${name}_bucket{${labels},le="+Inf"} ${count}`,
      `${name}_sum{${labels}} ${sumMs / 1000}`,
      `${name}_count{${labels}} ${count}`,
    );
  }
  return lines;
}
