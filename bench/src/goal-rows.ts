import { ratio, type GoalRow, type Round } from "./goal-row.ts";
import { SCALE_ROWS } from "./scale-rows.ts";

const STAGES = {
  created: "workspace answered",
  asked: "exec answered",
  live: "live",
  started: "started",
  written: "first byte written",
  followed: "first byte read",
};

/** Of one tier: the first byte of a new workspace with its stages, and of a command in a live one beside a bare spawn. */
function firstByteRows(tier: "namespace" | "process"): GoalRow[] {
  const figure = (name: string): string => `P13.${tier}.${name}`;
  const row = { id: "P13", unit: "ms" } as const;
  return [
    {
      ...{ ...row, what: `${tier}: create → first byte, p50`, figure: figure("createP50") },
      bound: { atMost: 60 },
    },
    {
      ...{ ...row, what: `${tier}: create → first byte, p99`, figure: figure("createP99") },
      bound: { atMost: 150 },
    },
    ...Object.entries(STAGES).map(([name, what]) => ({
      ...{ ...row, what: `${tier}: create → ${what}, p50`, figure: figure(`stage.${name}`) },
    })),
    ...(["P50", "P99"] as const).map((rank) => ({
      ...{
        ...row,
        what: `${tier}: exec → first byte, ${rank.toLowerCase()}`,
        figure: figure(`start${rank}`),
      },
      compare: {
        label: "ms over a bare spawn",
        of: (round: Round) => round[figure(`over${rank}`)] ?? Number.NaN,
      },
      ...(rank === "P50" ? { bound: { atMost: 10 } } : {}),
    })),
  ];
}

/** Processor time of a drained run, in all and by process. */
function cpuRows(what: string, figure: string, atMost?: number): GoalRow[] {
  const row = { id: "P5", unit: "µs a run" } as const;
  return [
    {
      ...{ ...row, what: `${what}: processor time`, figure: `${figure}.cpu` },
      ...(atMost === undefined ? {} : { bound: { atMost } }),
    },
    ...["server", "postgres", "agent", "hosts"].map((part) => ({
      ...{ ...row, what: `${what}: processor time, ${part}`, figure: `${figure}.cpu.${part}` },
    })),
  ];
}

/** Of a task in its default mode: what is deployed by the command and run by an agent of that capacity. */
function defaultTaskRows(capacity: number, isDefault: boolean): GoalRow[] {
  const figure = (name: string): string => `default.${capacity}.${name}`;
  const endToEnd = (name: string, what: string, least: number): GoalRow => ({
    ...{ id: "P4", what: `default task, capacity ${capacity}: ${what}`, figure: figure(name), unit: "/s" },
    compare: isDefault
      ? ratio(figure(name), "pgBossEndToEnd", "pg-boss")
      : ratio(figure(name), `default.16.${name}`, "capacity 16"),
    bound: { atLeast: isDefault ? least : 1 },
  });
  const drain = (base: string, label: string, least: number): GoalRow => ({
    ...{ id: "P5", what: `default task, capacity ${capacity}: drain`, figure: figure("drain"), unit: "/s" },
    compare: ratio(figure("drain"), base, label),
    bound: { atLeast: least },
  });
  return [
    endToEnd("warm", "end to end, warm", 2),
    endToEnd("cold", "end to end, agent just started", 1.2),
    ...(isDefault
      ? [drain("pgBossDrain", "pg-boss", 0.6), drain("shared.16.drain", "shared", 0.8)]
      : [drain("default.16.drain", "capacity 16", 1)]),
    ...cpuRows(`default task, capacity ${capacity}: drain`, figure("drain"), isDefault ? 300 : undefined),
  ];
}

/** The same task with `execution: "shared"`, at the default capacity. */
const SHARED_TASK_ROWS: readonly GoalRow[] = [
  ...(["warm", "cold"] as const).map((name): GoalRow => ({
    id: "P4",
    what: `shared task: end to end, ${name === "warm" ? "warm" : "agent just started"}`,
    ...{ figure: `shared.16.${name}`, unit: "/s" },
    compare: ratio(`shared.16.${name}`, "pgBossEndToEnd", "pg-boss"),
    ...(name === "warm" ? { bound: { atLeast: 4 } } : {}),
  })),
  {
    ...{ id: "P5", what: "shared task: drain", figure: "shared.16.drain", unit: "/s" },
    compare: ratio("shared.16.drain", "pgBossDrain", "pg-boss"),
    bound: { atLeast: 1.2 },
  },
  ...cpuRows("shared task: drain", "shared.16.drain", 140),
];

export const FLOOR_ROWS: readonly GoalRow[] = [
  { id: "F1", what: "single-row durable inserts, 16 callers", figure: "F1", unit: "/s" },
  { id: "F2", what: "multi-row durable inserts, 100 rows × 4 callers", figure: "F2", unit: "/s" },
  { id: "F3", what: "claim and complete by 50, one caller", figure: "F3", unit: "/s" },
  { id: "F4", what: "bare node:http, same POST validated, one core", figure: "F4", unit: "/s" },
  { id: "F5", what: "one durable insert, one caller, p50", figure: "F5", unit: "ms" },
  { id: "pg-boss", what: "end to end, 100 callers, one worker", figure: "pgBossEndToEnd", unit: "/s" },
  { id: "pg-boss", what: "drain of a backlog", figure: "pgBossDrain", unit: "/s" },
  { id: "graphile-worker", what: "drain of a backlog", figure: "graphileDrain", unit: "/s" },
  { id: "graphile-worker", what: "idle: add → handler running, p50", figure: "graphileLatency", unit: "ms" },
];

export const GOAL_ROWS: readonly GoalRow[] = [
  {
    id: "P1",
    what: "single starts, no worker",
    figure: "P1",
    unit: "/s",
    compare: ratio("P1", "F1", "F1"),
  },
  {
    id: "P1",
    what: "single starts, no worker",
    figure: "P1",
    unit: "/s",
    compare: ratio("P1", "F4", "F4"),
    bound: { atLeast: 0.5 },
  },
  {
    id: "P1",
    what: "single starts, a worker running them",
    figure: "P1.worker",
    unit: "/s",
    compare: ratio("P1.worker", "F1", "F1"),
  },
  {
    id: "P2",
    what: "start latency, 64 connections, p50",
    figure: "P2.p50",
    unit: "ms",
    bound: { atMost: 5 },
  },
  {
    id: "P2",
    what: "start latency, 64 connections, p99",
    figure: "P2.p99",
    unit: "ms",
    bound: { atMost: 15 },
  },
  { id: "P2", what: "start latency at half that load, p50", figure: "P2.half.p50", unit: "ms" },
  { id: "P2", what: "start latency at half that load, p99", figure: "P2.half.p99", unit: "ms" },
  {
    id: "P3",
    what: "batch starts, 500 a request",
    figure: "P3",
    unit: "/s",
    compare: ratio("P3", "F2", "F2"),
    bound: { atLeast: 0.45 },
  },
  {
    id: "P4",
    what: "bundle by hand: end to end, 100 callers, one worker",
    figure: "P4",
    unit: "/s",
    compare: ratio("P4", "pgBossEndToEnd", "pg-boss"),
    bound: { atLeast: 4 },
  },
  {
    id: "P5",
    what: "bundle by hand: drain of a backlog",
    figure: "P5",
    unit: "/s",
    compare: ratio("P5", "F3", "F3"),
    bound: { atLeast: 0.4 },
  },
  {
    id: "P5",
    what: "bundle by hand: drain of a backlog",
    figure: "P5",
    unit: "/s",
    compare: ratio("P5", "graphileDrain", "graphile-worker"),
  },
  {
    id: "P5",
    what: "bundle by hand: drain of a backlog",
    figure: "P5",
    unit: "/s",
    compare: ratio("P5", "pgBossDrain", "pg-boss"),
    bound: { atLeast: 1.2 },
  },
  ...cpuRows("bundle by hand: drain of a backlog", "P5", 140),
  ...defaultTaskRows(16, true),
  ...defaultTaskRows(100, false),
  ...SHARED_TASK_ROWS,
  {
    id: "P6",
    what: "idle: start → handler running, p50",
    figure: "P6",
    unit: "ms",
    compare: {
      label: "ms over F5",
      of: (round) => (round["P6"] ?? Number.NaN) - (round["F5"] ?? Number.NaN),
    },
    bound: { atMost: 1.8 },
  },
  {
    id: "P7",
    what: "append → SSE reader, 100/s, 1 reader, p50",
    figure: "P7",
    unit: "ms",
    compare: {
      label: "ms over F5",
      of: (round) => (round["P7"] ?? Number.NaN) - (round["F5"] ?? Number.NaN),
    },
    bound: { atMost: 1.2 },
  },
  {
    id: "P7",
    what: "append → SSE reader, 100/s, 100 readers, p99",
    figure: "P7.100",
    unit: "ms",
    bound: { atMost: 15 },
  },
  { id: "P7", what: "piece of a run → SSE reader, 50/s, 1 reader, p50", figure: "P7.run", unit: "ms" },
  { id: "P7", what: "piece of a run → SSE reader, 50/s, 100 readers, p99", figure: "P7.run.100", unit: "ms" },
  {
    id: "P8",
    what: "stream appends, 64 appenders of 256 B",
    figure: "P8",
    unit: "/s",
    compare: ratio("P8", "F4", "F4"),
    bound: { atLeast: 0.5 },
  },
  {
    id: "P8",
    what: "stream appends, 100 records a request",
    figure: "P8.batched",
    unit: "/s",
    compare: ratio("P8.batched", "F2", "F2"),
    bound: { atLeast: 0.5 },
  },
  {
    id: "P10",
    what: "1,000 SSE readers, 10 events/s each: server",
    figure: "P10.cpu",
    unit: "%",
    compare: ratio("P10.cpu", "P10.bare.cpu", "bare node:http"),
    bound: { atMost: 1.5 },
  },
  {
    id: "P10",
    what: "1,000 SSE readers, 10 events/s each: p99",
    figure: "P10.p99",
    unit: "ms",
    compare: ratio("P10.p99", "P10.bare.p99", "bare node:http"),
    bound: { atMost: 1.5 },
  },
  {
    id: "P9",
    what: "log lines of one run, readable",
    figure: "P9",
    unit: "/s",
    compare: ratio("P9", "F2", "F2"),
    bound: { atLeast: 1 },
  },
  { id: "P9", what: "line → follower, p99", figure: "P9.follower", unit: "ms", bound: { atMost: 50 } },
  {
    id: "P11",
    what: "empty folder → first start accepted",
    figure: "P11.firstStart",
    unit: "ms",
    bound: { atMost: 2500 },
  },
  { id: "P11", what: "restart → start accepted", figure: "P11.restart", unit: "ms", bound: { atMost: 800 } },
  {
    id: "P11",
    what: "server and PostgreSQL idle, memory",
    figure: "P11.memory",
    unit: "MiB",
    bound: { atMost: 200 },
  },
  {
    id: "P11",
    what: "server, PostgreSQL and agent idle for a minute, of a core",
    figure: "P11.cpu",
    unit: "%",
    bound: { atMost: 1 },
  },
  { id: "P11", what: "of that, server and PostgreSQL", figure: "P11.cpu.server", unit: "%" },
  { id: "P11", what: "of that, the agent", figure: "P11.cpu.agent", unit: "%" },
  {
    id: "P12",
    what: "single starts with history",
    figure: "P12.P1",
    unit: "/s",
    compare: {
      label: "× slower than P1",
      of: (round) => (round["P1"] ?? Number.NaN) / (round["P12.P1"] ?? Number.NaN),
    },
    bound: { atMost: 1.2 },
  },
  {
    id: "P12",
    what: "drain with history",
    figure: "P12.P5",
    unit: "/s",
    compare: {
      label: "× slower than P5",
      of: (round) => (round["P5"] ?? Number.NaN) / (round["P12.P5"] ?? Number.NaN),
    },
    bound: { atMost: 1.2 },
  },
  {
    id: "P12",
    what: "idle start with history",
    figure: "P12.P6",
    unit: "ms",
    compare: {
      label: "× slower than P6",
      of: (round) => (round["P12.P6"] ?? Number.NaN) / (round["P6"] ?? Number.NaN),
    },
    bound: { atMost: 1.2 },
  },
  {
    id: "P13",
    what: "10,000 files, 500 MB: first commit",
    figure: "P13.first",
    unit: "ms",
    bound: { atMost: 4000 },
  },
  {
    id: "P13",
    what: "10,000 files, 500 MB: unchanged commit",
    figure: "P13.unchanged",
    unit: "ms",
    bound: { atMost: 250 },
  },
  {
    id: "P13",
    what: "call → program of an exec runs, p50",
    figure: "P13.start",
    unit: "ms",
    compare: {
      label: "ms over a bare spawn",
      of: (round) => (round["P13.start"] ?? Number.NaN) - (round["P13.bare"] ?? Number.NaN),
    },
    bound: { atMost: 10 },
  },
  ...(["namespace", "process"] as const).flatMap(firstByteRows),
  { id: "P13", what: "list of one folder, p99", figure: "P13.list", unit: "ms", bound: { atMost: 5 } },
  {
    id: "P16",
    what: "64 callers of one environment, another calls 20 times a second",
    figure: "P16.floodBeside",
    unit: "/s",
    compare: ratio("P16.floodBeside", "P16.floodAlone", "alone"),
    bound: { atLeast: 0.8 },
  },
  {
    id: "P16",
    what: "start of the other one, p99",
    figure: "P16.callP99Beside",
    unit: "ms",
    compare: ratio("P16.callP99Beside", "P16.callP99Alone", "alone"),
    bound: { atMost: 3 },
  },
  ...SCALE_ROWS,
];
