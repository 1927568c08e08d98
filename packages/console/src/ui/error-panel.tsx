import { ApiError } from "@keelson/sdk/browser";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Id } from "./copy-button.tsx";

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What was refused or failed: the message says what to do; code and request id find it in the server's log. */
export function ErrorPanel({
  error,
  onRetry,
}: {
  error: unknown;
  onRetry?: (() => void) | undefined;
}): ReactNode {
  const { code, requestId, issues } =
    error instanceof ApiError ? error : { code: null, requestId: null, issues: [] };
  return (
    <div role="alert" className="flex flex-col gap-2 rounded-lg border border-line bg-bad-ground p-4">
      <p className="font-medium text-bad">{messageOf(error)}</p>
      {issues.length > 0 && (
        <ul className="list-disc pl-5">
          {issues.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code className="font-mono text-xs">{path}</code>: {message}
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs">
        {code !== null && <span>Code {code}</span>}
        {requestId !== null && (
          <span className="inline-flex items-center gap-1">
            Request <Id value={requestId} />
          </span>
        )}
        {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
      </div>
    </div>
  );
}
