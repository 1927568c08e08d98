import { RUN_METRICS_WINDOWS, type RunMetricsWindow } from "@keelson/contract/plain";
import { definedFields, searchWord } from "../../app/search-text.ts";

/** Of an address: how far back its charts go. Absent: the default. */
export type WindowSearch = { window?: RunMetricsWindow };

export const readWindowSearch = (search: Record<string, unknown>): WindowSearch =>
  definedFields({ window: searchWord(search["window"], RUN_METRICS_WINDOWS) });
