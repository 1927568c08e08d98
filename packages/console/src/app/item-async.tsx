import type { ReactNode } from "react";
import { isNotFound } from "../api/use-follow.ts";
import { Loading } from "../ui/async.tsx";
import { ErrorPanel } from "../ui/error-panel.tsx";
import { Page } from "../ui/page.tsx";
import { NotFound } from "./not-found.tsx";

type Result<T> = { data: T | undefined; error: unknown; refetch: () => unknown };

/** What a whole page shows: the item, or that it is not there, or why it cannot be shown. What was shown once stays. */
export function ItemAsync<T>({
  result: { data, error, refetch },
  children,
}: {
  result: Result<T>;
  children: (data: T) => ReactNode;
}): ReactNode {
  if (isNotFound(error)) return <NotFound />;
  if (data !== undefined) return children(data);
  if (error === null) return <Loading />;
  return (
    <Page title="This page failed to load">
      <ErrorPanel error={error} onRetry={() => void refetch()} />
    </Page>
  );
}
