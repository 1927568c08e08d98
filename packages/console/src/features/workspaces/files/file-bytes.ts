import type { FileEntry } from "@keelson/contract";
import { useInfiniteQuery, useQuery, type InfiniteData, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { getBytes, hrefOf } from "../../../api/client.ts";
import { usePlace, type Place } from "../../../api/place.ts";
import { at } from "../../../api/route.ts";
import { readWorkspaceFile } from "../../../api/routes/workspace-files.ts";
import { immutableKey } from "../workspace-data.ts";

/** A file of a version. Its digest says what its bytes are, whatever the version. */
export type FileOfVersion = { workspaceId: string; versionId: string; entry: FileEntry };

const PAGE_BYTES = 256 * 1024;

const contentOf = ({ workspaceId }: FileOfVersion) => at(readWorkspaceFile, { workspace_id: workspaceId });

const contentQuery = (place: Place, { versionId, entry }: FileOfVersion) => ({
  ...place,
  path: entry.path,
  source: "version" as const,
  version_id: versionId,
});

const readRange = (
  place: Place,
  file: FileOfVersion,
  { start, end, signal }: { start: number; end: number; signal: AbortSignal },
): Promise<Uint8Array> =>
  getBytes(contentOf(file), contentQuery(place, file), {
    headers: { range: `bytes=${start}-${end - 1}` },
    signal,
  });

export type LoadedBytes = {
  /** From the beginning of the file on. */
  bytes: Uint8Array | undefined;
  isWhole: boolean;
  error: unknown;
  isLoadingMore: boolean;
  loadMore: () => void;
  refetch: () => void;
};

/** A file from its beginning, by pieces of 256 KiB. */
export function useFileBytes(file: FileOfVersion): LoadedBytes {
  const place = usePlace();
  const { digest, size_bytes: size } = file.entry;
  const result = useInfiniteQuery<Uint8Array, Error, InfiniteData<Uint8Array>, unknown[], number>({
    queryKey: immutableKey(place.environment_id, file.workspaceId, "bytes", digest),
    queryFn: ({ pageParam: start, signal }) =>
      size === 0
        ? new Uint8Array()
        : readRange(place, file, { start, end: Math.min(size, start + PAGE_BYTES), signal }),
    initialPageParam: 0,
    getNextPageParam: (last, _pages, start) => (start + last.length < size ? start + last.length : null),
    staleTime: "static",
    gcTime: 60_000,
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = result;
  const bytes = useMemo(() => (data === undefined ? undefined : concat(data.pages)), [data]);
  return {
    bytes,
    isWhole: bytes !== undefined && bytes.length >= size,
    error: data === undefined ? error : null,
    isLoadingMore: isFetchingNextPage,
    loadMore: () => void (hasNextPage && fetchNextPage()),
    refetch: () => void refetch(),
  };
}

/** All of a file that is known to be small enough. */
export function useWholeFile(file: FileOfVersion | null): UseQueryResult<Uint8Array> {
  const place = usePlace();
  return useQuery<Uint8Array>({
    queryKey: immutableKey(place.environment_id, file?.workspaceId, "whole", file?.entry.digest),
    queryFn: ({ signal }) =>
      file === null || file.entry.size_bytes === 0
        ? new Uint8Array()
        : readRange(place, file, { start: 0, end: file.entry.size_bytes, signal }),
    enabled: file !== null,
    staleTime: "static",
    gcTime: 60_000,
  });
}

/** The address that a browser saves the file from; the server says that it is an attachment. */
export function useDownloadUrl(file: FileOfVersion): string {
  const place = usePlace();
  return hrefOf(contentOf(file), contentQuery(place, file));
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1 && pieces[0] !== undefined) return pieces[0];
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
