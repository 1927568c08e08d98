import type { Run, Token } from "@keelson/contract";
import { at } from "../../api/route.ts";
import { getToken, listTokens } from "../../api/routes/tokens.ts";
import { useItem } from "../../api/use-item.ts";

const MAX_SHOWN = 5;
const REFETCH_MS = 2000;

/** The pending tokens that a run has made, and the one that it waits for, wherever that was made. */
export function useAskedTokens(
  runId: string,
  run: Pick<Run, "pending_wait"> | undefined,
  { enabled = true }: { enabled?: boolean } = {},
): readonly Token[] {
  const made = useItem(listTokens, {
    query: { status: "pending", run_id: runId, order: "oldest", limit: MAX_SHOWN },
    refetchMs: REFETCH_MS,
    enabled,
  });
  const awaitedId = run?.pending_wait?.token_id ?? null;
  const isMadeHere = made.data?.tokens.some(({ id }) => id === awaitedId) === true;
  const awaited = useItem(at(getToken, { id: awaitedId ?? "" }), {
    enabled: enabled && awaitedId !== null && made.data !== undefined && !isMadeHere,
  });
  if (!enabled) return [];
  const elsewhere = awaited.data?.status === "pending" && awaited.data.id === awaitedId ? [awaited.data] : [];
  return [...(isMadeHere ? [] : elsewhere), ...(made.data?.tokens ?? [])];
}
