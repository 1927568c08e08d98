import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { createReading, isDoneIn, PATIENCE_MS, type Reading } from "./metric-reading.ts";
import {
  createCounters,
  createHistograms,
  type Counter,
  type Described,
  type Family,
  type Histogram,
  type Rendered,
} from "./metric-series.ts";
import { createRouteMetrics, type RouteMetrics } from "./route-metrics.ts";

/** Metrics of the process. */
export type Metrics = {
  route(method: string, pattern: string): RouteMetrics;
  /** A number that is read when the metrics are; null: it is not known yet, and is left out. */
  gauge(name: string, help: string, read: () => number | null): void;
  /** @param name ends with `_total` */
  counters(name: string, help: string, labelNames: readonly string[]): Family<Counter>;
  /** @param name ends with `_seconds`, as the bounds of its buckets are */
  histograms(
    name: string,
    help: string,
    labelNames: readonly string[],
    bounds: readonly number[],
  ): Family<Histogram>;
  /** Gauges that a question to the database answers. */
  reading(reading: Reading): void;
  /** Runs before the metrics are read, which wait for it for a while. It must not throw. */
  beforeRender(work: () => Promise<void>): void;
  render(): Promise<string>;
  contentType: string;
};

/** How often the lag of the event loop is sampled. It is what wakes an idle server most: the default is 10 ms. */
const LAG_SAMPLE_MS = 100;

/** @param noteFailure told of each reading that failed or took too long */
export function createMetrics(
  noteFailure: (reading: string, error: unknown) => void = () => undefined,
): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  const routes = createRouteMetrics();
  const families: Rendered[] = [];
  const readings: { render(): Promise<string[]> }[] = [];
  const before: (() => Promise<void>)[] = [];
  const keep = <Kept extends Rendered>(family: Kept): Kept => {
    families.push(family);
    return family;
  };
  const failures = keep(createCounters(READ_FAILURES, ["reading"]));
  return {
    contentType: registry.contentType,
    route: routes.route,
    gauge: (name, help, read) => registry.registerMetric(gaugeOf({ name, help }, read)),
    counters: (name, help, labelNames) => keep(createCounters({ name, help }, labelNames)),
    histograms: (name, help, labelNames, bounds) =>
      keep(createHistograms({ name, help }, labelNames, bounds)),
    reading: (reading) => {
      const failed = failures.of(reading.name);
      const shown = createReading(reading, (error) => {
        failed.value += 1;
        noteFailure(reading.name, error);
      });
      readings.push(shown);
    },
    beforeRender: (work) => void before.push(work),
    render: async () => {
      await isDoneIn(Promise.all(before.map((work) => work())), PATIENCE_MS);
      // Before the families: one of them counts what fails here.
      const read = (await Promise.all(readings.map((reading) => reading.render()))).flat();
      const counted = families.flatMap((family) => family.render());
      return `${await registry.metrics()}\n${[...read, ...counted, ...routes.render()].join("\n")}\n`;
    },
  };
}

const READ_FAILURES: Described = {
  name: "keelson_metrics_read_failures_total",
  help: "Readings of /metrics that failed or took longer than 2 s: their metrics were left out.",
};

const gaugeOf = ({ name, help }: Described, read: () => number | null): Gauge =>
  new Gauge({
    name,
    help,
    registers: [],
    collect() {
      const value = read();
      if (value === null) this.remove();
      else this.set(value);
    },
  });
