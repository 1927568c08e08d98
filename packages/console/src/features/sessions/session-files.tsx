import type { SessionFile } from "@keelson/contract";
import type { ReactNode } from "react";
import { hrefOf } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { at } from "../../api/route.ts";
import { listSessionFiles, readSessionFile } from "../../api/routes/sessions.ts";
import { useList } from "../../api/use-list.ts";
import { describeBytes } from "../../ui/describe-bytes.ts";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Section } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";

/** The files of a session, newest first, where it has any. They are saved and not shown: anybody may have uploaded them. */
export function SessionFiles({ sessionId }: { sessionId: string }): ReactNode {
  const files = useList(at(listSessionFiles, { id: sessionId }), { limit: 20, refetchMs: 5000 });
  if (files.rows.length === 0 && files.error === null) return null;
  return (
    <Section title="Files">
      {files.error !== null && <ErrorPanel error={files.error} onRetry={files.refetch} />}
      {files.rows.length > 0 && (
        <ul className="flex flex-col divide-y divide-line rounded-lg border border-line bg-surface">
          {files.rows.map((file) => (
            <FileRow key={file.id} file={file} />
          ))}
        </ul>
      )}
      {files.hasMore && (
        <button type="button" className="text-xs text-accent hover:underline" onClick={files.loadMore}>
          Earlier files
        </button>
      )}
    </Section>
  );
}

function FileRow({ file }: { file: SessionFile }): ReactNode {
  const { id, session_id, name, media_type, size_bytes, created_at } = file;
  const place = usePlace();
  return (
    <li className="flex flex-col gap-1 px-3 py-2">
      {/* The server says that it is an attachment, and under which name it is saved. */}
      <a
        href={hrefOf(at(readSessionFile, { id: session_id, file: id }), place)}
        download
        className="text-accent hover:underline"
      >
        <bdi className="break-all">{visibleText(name ?? id)}</bdi>
      </a>
      <div className="flex flex-wrap justify-between gap-x-2 text-xs text-quiet">
        <span className="break-all">
          {media_type}, {describeBytes(size_bytes)}
        </span>
        <Time at={created_at} />
      </div>
    </li>
  );
}
