import type { ErrorGroup } from "@keelson/contract";
import type { ReactNode } from "react";
import { Badge, type Tone } from "../../ui/badge.tsx";

/** Of an error, being open is no good state. */
const TONES: Record<ErrorGroup["status"], Tone> = { open: "bad", resolved: "good", muted: "neutral" };

export const GroupStatus = ({ group }: { group: ErrorGroup }): ReactNode => (
  <Badge tone={TONES[group.status]}>
    <span aria-hidden className="size-1.5 rounded-full bg-current" />
    {group.status === "open" && group.reopened_at !== null ? "open again" : group.status}
  </Badge>
);
