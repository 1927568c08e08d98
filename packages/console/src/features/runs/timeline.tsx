import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import type { RunEvents } from "./run-events.ts";
export function Timeline({ run, events }: { run: Run; events: RunEvents }): ReactNode {
  return <p>{run.id + events.all.length}</p>;
}
