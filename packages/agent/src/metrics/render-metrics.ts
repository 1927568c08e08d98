import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { ATTEMPT_OUTCOMES, type AgentCounts, type AgentNumbers } from "./agent-counts.ts";

/** The default of 10 ms wakes an idle agent a hundred times per second. */
const LAG_SAMPLE_MS = 100;

type Value = [labels: Record<string, string>, value: number];

export type AgentMetrics = { contentType: string; render(): Promise<string> };

/** The metrics of an agent, for Prometheus. Nothing is kept here: all numbers are read when somebody asks. */
export function createAgentMetrics(counts: AgentCounts, numbers: () => AgentNumbers): AgentMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  const gauge = (name: string, help: string, read: (now: AgentNumbers) => Value[]): void =>
    showGauge(registry, { name, help }, () => read(numbers()));
  gauge("keelson_agent_runs", "Runs that the agent holds.", ({ runs }) => [[{}, runs]]);
  gauge("keelson_agent_runs_parked", "Of those, the runs that only wait and take no slot.", ({ parked }) => [
    [{}, parked],
  ]);
  gauge("keelson_agent_capacity", "Runs that the agent executes at once.", ({ capacity }) => [
    [{}, capacity],
  ]);
  gauge(
    "keelson_agent_task_hosts",
    "Processes of tasks, by state: booting, idle (warm, without a run) or busy.",
    ({ taskHosts }) => Object.entries(taskHosts).map(([state, count]): Value => [{ state }, count]),
  );
  gauge(
    "keelson_agent_reports_pending",
    "Operations of runs that the server has not confirmed yet.",
    ({ reportsPending }) => [[{}, reportsPending]],
  );
  gauge("keelson_agent_workspaces", "Workspaces that the agent holds.", ({ workspaces }) => [
    [{}, workspaces],
  ]);
  gauge("keelson_agent_draining", "1 while the agent takes no more runs and ends.", ({ draining }) => [
    [{}, Number(draining)],
  ]);
  showCounts(registry, counts);
  return { contentType: registry.contentType, render: () => registry.metrics() };
}

function showCounts(registry: Registry, counts: AgentCounts): void {
  const counter = (name: string, help: string, read: () => Value[]): void =>
    showCounter(registry, { name, help }, read);
  counter(
    "keelson_agent_attempts_ended_total",
    "Attempts that ended here, by outcome; rejected ones were handed back, suspended ones continue later.",
    () => ATTEMPT_OUTCOMES.map((outcome): Value => [{ outcome }, counts.attemptsEnded[outcome]]),
  );
  counter("keelson_agent_lease_polls_total", "Calls for work, answered or failed.", () =>
    Object.entries(counts.leasePolls).map(([outcome, count]): Value => [{ outcome }, count]),
  );
  counter(
    "keelson_agent_commits_failed_total",
    "Commits of workspaces that failed. The agent keeps the files.",
    () => [[{}, counts.commitsFailed]],
  );
}

type Described = { name: string; help: string };

const labelNamesOf = (values: readonly Value[]): string[] => Object.keys(values[0]?.[0] ?? {});

const showGauge = (registry: Registry, described: Described, read: () => Value[]): void =>
  registry.registerMetric(
    new Gauge({
      ...described,
      labelNames: labelNamesOf(read()),
      registers: [],
      collect() {
        for (const [labels, value] of read()) this.set(labels, value);
      },
    }),
  );

const showCounter = (registry: Registry, described: Described, read: () => Value[]): void =>
  registry.registerMetric(
    new Counter({
      ...described,
      labelNames: labelNamesOf(read()),
      registers: [],
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    }),
  );
