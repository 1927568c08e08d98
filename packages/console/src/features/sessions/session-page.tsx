import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getSession } from "../../api/routes/sessions.ts";
import { Loading } from "../../ui/async.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Page } from "../../ui/page.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { ConversationPane } from "./conversation-pane.tsx";
import { SessionActions } from "./session-actions.tsx";
import { SessionSide } from "./session-side.tsx";
import { SessionStatus } from "./session-status.tsx";

export function SessionPage(): ReactNode {
  const { sessionId } = useParams({ from: "/signed-in/e/$environmentId/sessions/$sessionId" });
  const { data, error, refetch } = useItem(at(getSession, { id: sessionId }), {
    refetchMs: 2000,
  });
  if (data === undefined)
    return (
      <Page title="Session">
        {error === null ? <Loading /> : <ErrorPanel error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return (
    <Page
      isWide
      title={visibleText(data.external_id ?? `${data.actor ?? data.task ?? "Session"} conversation`)}
      subtitle={<SessionStatus session={data} />}
      actions={<SessionActions session={data} />}
    >
      {/* Another session is another conversation: nothing of the one before stays. */}
      <div
        key={data.id}
        className="grid min-h-0 flex-1 gap-4 max-lg:overflow-y-auto lg:grid-cols-[minmax(0,1fr)_19rem]"
      >
        <ConversationPane session={data} />
        <SessionSide session={data} />
      </div>
    </Page>
  );
}
