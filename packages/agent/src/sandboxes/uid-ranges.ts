import type { UidRange } from "./sandbox.ts";

/**
 * The uids that an agent gives away. The first ranges are far from those that systems and people use. The second ones are for
 * a container that maps only 65,536 uids. No range meets another one.
 */
export const WORKSPACE_UIDS: readonly UidRange[] = [
  { first: 0x70000000, count: 0x01000000 },
  { first: 20_000, count: 40_000 },
];

export const TASK_UIDS: readonly UidRange[] = [
  { first: 0x71000000, count: 0x01000000 },
  { first: 10_000, count: 10_000 },
];
