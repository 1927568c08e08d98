import type { Token } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { listTokens } from "../../api/routes/tokens.ts";
import { useItem } from "../../api/use-item.ts";
import { visibleText } from "../../ui/visible-text.ts";
import { outcomeVerb } from "./completion-form.ts";
import { OutcomeSentence } from "./outcome.tsx";
import { purposeText } from "./token-parts.tsx";

const MAX_SHOWN = 3;
const MAX_DATA_CHARACTERS = 200;
const ENDED = ["completed", "expired", "cancelled"] as const;

/** What became of the newest tokens of a run: who answered them, when, and with what. */
export function AnsweredTokens({ runId }: { runId: string }): ReactNode {
  const { data } = useItem(listTokens, {
    query: { run_id: runId, status: ENDED, order: "newest", limit: MAX_SHOWN },
  });
  if (data === undefined || data.tokens.length === 0) return null;
  return (
    <ul aria-label="Answers" className="flex flex-col gap-1">
      {data.tokens.map((token) => (
        <li key={token.id} className="break-words">
          <Link
            to="/e/$environmentId/tokens/$tokenId"
            params={{ environmentId: token.environment_id, tokenId: token.id }}
            className="font-medium hover:underline"
          >
            <bdi>{purposeText(token)}</bdi>
          </Link>{" "}
          <span className="text-quiet">
            <OutcomeSentence token={token} />
            <Data token={token} />
          </span>
        </li>
      ))}
      {data.next_cursor !== null && data.tokens[0] !== undefined && (
        <li>
          <Link
            to="/e/$environmentId/tokens"
            params={{ environmentId: data.tokens[0].environment_id }}
            search={{ run_id: runId, status: "all" }}
            className="text-accent hover:underline"
          >
            All tokens of this run
          </Link>
        </li>
      )}
    </ul>
  );
}

/** What an approval says needs no JSON. */
function Data({ token }: { token: Token }): ReactNode {
  if (token.status !== "completed" || outcomeVerb(token) !== "Completed") return null;
  const text = visibleText(JSON.stringify(token.data));
  const isCut = text.length > MAX_DATA_CHARACTERS;
  return (
    <>
      {" "}
      with{" "}
      <code className="font-mono text-xs">{isCut ? `${text.slice(0, MAX_DATA_CHARACTERS)}…` : text}</code>
    </>
  );
}
