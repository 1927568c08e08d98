/** Which part of a run is shown, and what of it. */
export const RUN_TABS = ["timeline", "events", "logs", "data"] as const;
export type RunTab = (typeof RUN_TABS)[number];

export type RunSearch = {
  tab?: RunTab;
  /** What is searched for in the logs. */
  find?: string;
  stream?: "stdout" | "stderr";
  /** Kinds of events that are shown, by their beginning: `step`, `wait`. */
  kind?: string;
  /** The least severity of the events that are shown. */
  severity?: "info" | "warn" | "error";
  /** The span of the timeline whose details are shown, by its key. */
  span?: string;
  /** Long idle times take their room on the axis of the timeline. */
  fold?: false;
};

const isOneOf = <T extends string>(values: readonly T[], value: unknown): value is T =>
  (values as readonly unknown[]).includes(value);

export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const { tab, find, stream, kind, severity, span, fold } = search;
  return {
    ...(isOneOf(RUN_TABS, tab) && { tab }),
    ...((typeof find === "string" || typeof find === "number") && find !== "" && { find: String(find) }),
    ...(isOneOf(["stdout", "stderr"], stream) && { stream }),
    ...(typeof kind === "string" && kind !== "" && { kind }),
    ...(isOneOf(["info", "warn", "error"], severity) && { severity }),
    ...(typeof span === "string" && span !== "" && { span }),
    ...(fold === false && { fold }),
  };
}
