import type { ReactNode } from "react";
import { ErrorPanel } from "./error-panel.tsx";

/** While something is read: nothing for a moment, then a quiet word. */
export function Loading({ what = "Loading" }: { what?: string }): ReactNode {
  return (
    <p role="status" className="animate-pulse p-6 text-center text-quiet">
      {what} …
    </p>
  );
}

type Result<T> = { data: T | undefined; error: unknown; refetch: () => unknown };

/** What a read answered, or that it is under way, or why it failed. What was shown once stays. */
export function Async<T>({
  result,
  children,
}: {
  result: Result<T>;
  children: (data: T) => ReactNode;
}): ReactNode {
  const { data, error, refetch } = result;
  if (data !== undefined) return children(data);
  if (error !== null) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  return <Loading />;
}
