import { useMemo, type ReactNode } from "react";
import { Async } from "../../../ui/async.tsx";
import { Button } from "../../../ui/button.tsx";
import { describeBytes } from "../../../ui/describe-bytes.ts";
import { visibleText } from "../../../ui/visible-text.ts";
import { useFileBytes, useWholeFile, type FileOfVersion, type LoadedBytes } from "./file-bytes.ts";
import { decodeText, fileKindOf, hexRows, type ImageType } from "./file-kind.ts";
import { ImageOfBytes, MAX_IMAGE_BYTES } from "./image-of-bytes.tsx";
import { TextLines } from "./text-lines.tsx";
import { useHighlighted } from "./use-highlighted.ts";

const MAX_HEX_BYTES = 1024;
/** More text than this is downloaded to be read. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** What is in a file: its text, its picture, or its first bytes. */
export function FilePreview({ file }: { file: FileOfVersion }): ReactNode {
  const loaded = useFileBytes(file);
  return (
    <Async result={{ data: loaded.bytes, error: loaded.error, refetch: loaded.refetch }}>
      {(bytes) => <Preview file={file} bytes={bytes} loaded={loaded} />}
    </Async>
  );
}

function Preview({
  file,
  bytes,
  loaded,
}: {
  file: FileOfVersion;
  bytes: Uint8Array;
  loaded: LoadedBytes;
}): ReactNode {
  if (bytes.length === 0) return <p className="p-4 text-quiet">An empty file.</p>;
  const what = fileKindOf(bytes);
  if (what.kind === "text") return <TextPreview file={file} bytes={bytes} loaded={loaded} />;
  if (what.kind === "image" && file.entry.size_bytes <= MAX_IMAGE_BYTES)
    return <ImagePreview file={file} type={what.type} />;
  return <HexPreview bytes={bytes} size={file.entry.size_bytes} />;
}

function TextPreview({
  file: { entry },
  bytes,
  loaded: { isWhole, isLoadingMore, loadMore },
}: {
  file: FileOfVersion;
  bytes: Uint8Array;
  loaded: LoadedBytes;
}): ReactNode {
  const { text, isDamaged } = useMemo(() => decodeText(bytes, isWhole), [bytes, isWhole]);
  const tokens = useHighlighted(entry.path, isWhole ? text : null);
  return (
    <>
      {isDamaged && (
        <p className="bg-warn-ground px-3 py-1.5 text-xs text-warn">
          This is not UTF-8: � stands for what is no character. The download has the bytes as they are.
        </p>
      )}
      <TextLines
        label={`Content of ${visibleText(entry.path)}`}
        text={text}
        tokens={tokens}
        className="flex-1 py-1"
      />
      {!isWhole && (
        <div className="flex items-center gap-3 border-t border-line px-3 py-2 text-sm text-quiet">
          The first {describeBytes(bytes.length)} of {describeBytes(entry.size_bytes)}.
          {bytes.length < MAX_TEXT_BYTES && (
            <Button onClick={loadMore} isBusy={isLoadingMore}>
              Show more
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function ImagePreview({ file, type }: { file: FileOfVersion; type: ImageType }): ReactNode {
  const result = useWholeFile(file);
  return (
    <Async result={result}>
      {(bytes) => (
        <div
          tabIndex={0}
          role="region"
          aria-label="Picture"
          className="min-h-0 flex-1 overflow-auto bg-raised p-4"
        >
          <ImageOfBytes bytes={bytes} type={type} alt={visibleText(file.entry.name)} />
        </div>
      )}
    </Async>
  );
}

function HexPreview({ bytes, size }: { bytes: Uint8Array; size: number }): ReactNode {
  const rows = useMemo(() => hexRows(bytes, MAX_HEX_BYTES), [bytes]);
  return (
    <>
      <p className="border-b border-line px-3 py-2 text-sm text-quiet">
        {size <= MAX_HEX_BYTES
          ? "This file is not text. Its bytes:"
          : `This file is not text. The first ${describeBytes(MAX_HEX_BYTES)} of ${describeBytes(size)}:`}
      </p>
      <pre
        tabIndex={0}
        role="region"
        aria-label="Bytes"
        className="min-h-0 flex-1 overflow-auto p-3 font-mono text-xs leading-5"
      >
        {rows.map(({ offset, bytes: hex, text }) => (
          <div key={offset}>
            <span className="text-quiet">{offset}</span>
            {"  "}
            {hex.padEnd(47)}
            {"  "}
            {text}
          </div>
        ))}
      </pre>
    </>
  );
}
