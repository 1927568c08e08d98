import { parseRunSearch } from "@keelson/contract/plain";
import { usageError } from "./exit-codes.ts";

/** Refuses a search that cannot be read, and shows where. */
export function checkSearch(search: string | undefined): void {
  if (search === undefined) return;
  const parsed = parseRunSearch(search);
  if (!("mistake" in parsed)) return;
  const { position, message } = parsed.mistake;
  throw usageError(
    `--search, at character ${position}: ${message}\n  ${search}\n  ${" ".repeat(position - 1)}^`,
  );
}
