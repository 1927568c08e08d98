import { Wifi, WifiOff } from "lucide-react";
import type { ReactNode } from "react";
import { useLiveState } from "../api/live-state.ts";
import { Badge } from "../ui/badge.tsx";

/** Whether what is seen is the present. */
export function LiveIndicator(): ReactNode {
  const state = useLiveState();
  return (
    <span
      role="status"
      title={
        state === "reconnecting"
          ? "The server does not answer. This page may be out of date"
          : "This page updates live"
      }
    >
      {state === "reconnecting" ? (
        <Badge tone="warn">
          <WifiOff size={13} aria-hidden /> Reconnecting …
        </Badge>
      ) : (
        <Badge tone="good">
          <Wifi size={13} aria-hidden /> Live
        </Badge>
      )}
    </span>
  );
}
