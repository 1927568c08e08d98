import {
  RUN_METRICS_WINDOW_DEFAULT,
  RUN_METRICS_WINDOWS,
  type RunMetricsWindow,
} from "@keelson/contract/plain";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { definedFields, searchWord } from "../../app/search-text.ts";
import { cx } from "../../ui/class-names.ts";

/** The window of the page's address. */
export function useMetricsWindow(): RunMetricsWindow {
  const search: { window?: unknown } = useSearch({ strict: false });
  return searchWord(search.window, RUN_METRICS_WINDOWS) ?? RUN_METRICS_WINDOW_DEFAULT;
}

const NAMES: Record<RunMetricsWindow, string> = {
  "1h": "1 hour",
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
};

export const titleOfWindow = (window: RunMetricsWindow): string =>
  window === "1h" ? "Last hour" : `Last ${NAMES[window]}`;

/** Chooses how far back, in the address. */
export function WindowSwitch(): ReactNode {
  const chosen = useMetricsWindow();
  const navigate = useNavigate();
  const choose = (window: RunMetricsWindow): void =>
    void navigate({
      to: ".",
      search: (before: object) =>
        definedFields({
          ...before,
          window: window === RUN_METRICS_WINDOW_DEFAULT ? undefined : window,
        }) as never,
      replace: true,
    });
  return (
    <div role="group" aria-label="Time" className="flex rounded-md border border-line bg-surface p-0.5">
      {RUN_METRICS_WINDOWS.map((window) => (
        <button
          key={window}
          type="button"
          aria-pressed={window === chosen}
          onClick={() => choose(window)}
          className={cx(
            "rounded px-2.5 py-1 text-sm whitespace-nowrap",
            window === chosen ? "bg-raised font-medium text-text" : "text-quiet hover:text-text",
          )}
        >
          {NAMES[window]}
        </button>
      ))}
    </div>
  );
}
