import { ratio, type GoalRow, type Round } from "./goal-row.ts";

/** P14, P15 and P17 to P20: what must cost the same however much there is of it. */
export const SCALE_ROWS: readonly GoalRow[] = [
  { id: "P14", what: "backlog without keys: its first runs", figure: "P14.none", unit: "/s" },
  {
    ...{ id: "P14", what: "10 concurrency keys, the shortest backlog", figure: "P14.short", unit: "/s" },
    compare: ratio("P14.short", "P14.none", "without keys"),
    bound: { atLeast: 0.5 },
  },
  ...(["middle", "long"] as const).map((name): GoalRow => ({
    ...{ id: "P14", what: `10 concurrency keys, the ${name === "long" ? "longest" : "middle"} backlog` },
    ...{ figure: `P14.${name}`, unit: "/s" },
    compare: ratio(`P14.${name}`, "P14.short", "the shortest"),
    bound: { atLeast: 0.9 },
  })),
  ...(["few", "some", "many"] as const).map((name): GoalRow => ({
    ...{ id: "P15", what: `renewal of a lease, of ${name}`, figure: `P15.${name}`, unit: "µs" },
    bound: { atMost: 40 },
  })),
  {
    ...{ id: "P17", what: "step to step, p50, at the beginning", figure: "P17.first", unit: "ms" },
    compare: {
      label: "ms over F5",
      of: (round: Round) => (round["P17.first"] ?? Number.NaN) - (round["F5"] ?? Number.NaN),
    },
    bound: { atMost: 2 },
  },
  {
    ...{ id: "P17", what: "step to step, p50, at the end", figure: "P17.last", unit: "ms" },
    compare: ratio("P17.last", "P17.first", "the beginning"),
    bound: { atMost: 1.2 },
  },
  {
    ...{ id: "P17", what: "behind a journal: first new call", figure: "P17.resumed", unit: "ms" },
    bound: { atMost: 400 },
  },
  {
    ...{ id: "P19", what: "default task: runs that come to their wait", figure: "P19.reached", unit: "/s" },
    bound: { atLeast: 300 },
  },
  {
    ...{ id: "P19", what: "all wait: server, PostgreSQL and agent, of a core" },
    ...{ figure: "P19.idleCpu", unit: "%" },
    bound: { atMost: 2 },
  },
  {
    ...{ id: "P19", what: "completion → code, 50 a second, p99", figure: "P19.wokenP99", unit: "ms" },
    bound: { atMost: 50 },
  },
  {
    ...{ id: "P19", what: "start → code while all others are completed, p99" },
    ...{ figure: "P19.startedP99", unit: "ms" },
    bound: { atMost: 1_000 },
  },
  {
    ...{ id: "P20", what: "completions of tokens, 64 callers", figure: "P19.completed", unit: "/s" },
    bound: { atLeast: 2_500 },
  },
  {
    ...{ id: "P20", what: "children of one run, a chunk at a time", figure: "P20.children", unit: "ms" },
    bound: { atMost: 2_000 },
  },
  {
    ...{ id: "P20", what: "the last chunks", figure: "P20.lastChunks", unit: "ms" },
    compare: ratio("P20.lastChunks", "P20.firstChunks", "the first"),
    bound: { atMost: 1.2 },
  },
  {
    ...{ id: "P20", what: "900 limited queues", figure: "P20.many", unit: "/s" },
    compare: ratio("P20.many", "P20.one", "one queue"),
    bound: { atLeast: 0.7 },
  },
];
