import type { Token } from "@keelson/contract";
import { useParams } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { cancelToken, getToken } from "../../api/routes/tokens.ts";
import { Loading } from "../../ui/async.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Card, Facts, Page, Section } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { Tags } from "../../ui/tags.tsx";
import { Time } from "../../ui/time.tsx";
import { CompleteToken } from "./complete-token.tsx";
import { Outcome, Overtaken } from "./outcome.tsx";
import { Countdown, purposeText, Waiter } from "./token-parts.tsx";

export function TokenPage(): ReactNode {
  const { tokenId } = useParams({ from: "/signed-in/e/$environmentId/tokens/$tokenId" });
  const { data, error, refetch } = useItem(at(getToken, { id: tokenId }), {
    refetchMs: 2000,
  });
  if (data === undefined)
    return (
      <Page title="Token">
        {error === null ? <Loading /> : <ErrorPanel error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return <TokenView key={data.id} token={data} />;
}

function TokenView({ token }: { token: Token }): ReactNode {
  const [overtaken, setOvertaken] = useState<Token | null>(null);
  const isPending = token.status === "pending";
  return (
    <Page
      title={purposeText(token)}
      subtitle={
        <span className="inline-flex flex-wrap items-center gap-2">
          <Status value={token.status} />
          {isPending && <Countdown at={token.timeout_at} />}
          <Id value={token.id} />
        </span>
      }
      actions={isPending && <CancelToken token={token} />}
    >
      {overtaken !== null && <Overtaken token={overtaken} onDismiss={() => setOvertaken(null)} />}
      <Card>
        {isPending ? <CompleteToken token={token} onOvertaken={setOvertaken} /> : <Outcome token={token} />}
      </Card>
      <Card>
        <Facts
          rows={[
            ["Who waits", <Waiter key="waiter" token={token} />],
            ["Tags", token.tags.length === 0 ? "–" : <Tags key="tags" tags={token.tags} />],
            ["Asked", <Time key="asked" at={token.created_at} />],
            [isPending ? "Expires" : "Would have expired", <Time key="expires" at={token.timeout_at} />],
          ]}
        />
      </Card>
      {Object.keys(token.metadata).length > 0 && (
        <Section title="Metadata">
          <JsonView value={token.metadata} label="the metadata" />
        </Section>
      )}
      <Section title="Other ways to complete this token">
        <p className="max-w-3xl text-quiet">
          The token has a public access token for a browser and a callback URL (
          <code className="font-mono text-xs break-all">
            {location.origin}/api/v1/tokens/{token.id}/callback/…
          </code>
          ) for a provider. Both were given once, to whoever made the token; only digests of them are stored,
          so they are not shown here. The first completion stays, whoever makes it.
        </p>
      </Section>
    </Page>
  );
}

function CancelToken({ token }: { token: Token }): ReactNode {
  const cancel = useAction((place) => send(at(cancelToken, { id: token.id }), { body: place }), {
    done: "Token cancelled.",
    isShownInPlace: true,
  });
  return (
    <ConfirmButton
      title="Cancel this token?"
      description="Nobody can complete a cancelled token. The run that waits for it is told that it was cancelled."
      verb="Cancel the token"
      onConfirm={() => cancel.mutateAsync()}
    >
      Cancel
    </ConfirmButton>
  );
}
