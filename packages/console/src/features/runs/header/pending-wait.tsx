import type { Run, Token } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { CountDown } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { AskedToken } from "../../tokens/asked-token.tsx";
import { Overtaken } from "../../tokens/outcome.tsx";
import { useAskedTokens } from "../../tokens/use-asked-tokens.ts";
import { Notice } from "./notice.tsx";
import { ResourceLink } from "./resource-link.tsx";

type Wait = NonNullable<Run["pending_wait"]>;

/** What a run waits for. A question is answered here. */
export function PendingWait({ run, wait }: { run: Run; wait: Wait }): ReactNode {
  switch (wait.kind) {
    case "timer":
      return <Notice tone="info" title={<Sleep wait={wait} />} />;
    case "run":
      return (
        <Notice tone="info" title="Waiting for a child run">
          <p>{wait.run_id !== null && <ResourceLink page="runs" id={wait.run_id} />}</p>
          <TimesOut wait={wait} />
        </Notice>
      );
    case "input":
      return (
        <Notice tone="info" title={`Waiting for input on the stream ${visibleText(wait.stream ?? "")}`}>
          <p>
            {run.session_id !== null && (
              <ResourceLink page="sessions" id={run.session_id} text="Open the session" />
            )}
          </p>
          <TimesOut wait={wait} />
        </Notice>
      );
    case "token":
      return <Question run={run} wait={wait} />;
  }
}

function Sleep({ wait: { name, timeout_at: at } }: { wait: Wait }): ReactNode {
  const said = `Sleeping in ${visibleText(name)}`;
  if (at === null) return said;
  return (
    <CountDown at={at} before={`${said}: the run continues`} due={`${said}: the run is about to continue`} />
  );
}

function TimesOut({ wait: { timeout_at: at } }: { wait: Wait }): ReactNode {
  if (at === null) return null;
  return (
    <p>
      <CountDown at={at} before="The wait times out" due="The wait is about to time out" />
    </p>
  );
}

function Question({ run, wait }: { run: Run; wait: Wait }): ReactNode {
  const [overtaken, setOvertaken] = useState<Token | null>(null);
  const tokens = useAskedTokens(run.id, run);
  return (
    <Notice tone="warn" title="Waiting for an answer">
      {overtaken !== null && <Overtaken token={overtaken} onDismiss={() => setOvertaken(null)} />}
      {tokens.length === 0 && wait.token_id !== null && (
        <p>
          Token <ResourceLink page="tokens" id={wait.token_id} />
        </p>
      )}
      <div className="flex flex-col gap-2 text-text">
        {tokens.map((token) => (
          <AskedToken key={token.id} token={token} onOvertaken={setOvertaken} />
        ))}
      </div>
    </Notice>
  );
}
