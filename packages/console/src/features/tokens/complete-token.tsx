import type { Token, TokenCompletion } from "@keelson/contract";
import { ApiError } from "@keelson/sdk/browser";
import type { UseMutationResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get, send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { at, type BodyOf } from "../../api/route.ts";
import { completeToken, getToken } from "../../api/routes/tokens.ts";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { completionForm } from "./completion-form.ts";
import { Decision } from "./decision.tsx";
import { FieldsForm, JsonForm } from "./fields-form.tsx";
import { purposeText } from "./token-parts.tsx";

type Completed = { completion: TokenCompletion } | { overtakenBy: Token };
export type Completing = UseMutationResult<Completed>;

/** A refusal that says the token has ended otherwise. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof ApiError &&
  ["token_completion_conflict", "token_cancelled", "token_expired"].includes(error.code);

/** Completing has one effect, so that a lost answer is asked for again. */
async function complete(id: string, body: BodyOf<typeof completeToken>): Promise<TokenCompletion> {
  const route = at(completeToken, { id });
  try {
    return await send(route, { body });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.outcomeUnknown) throw error;
    return send(route, { body });
  }
}

/** Asks for what completes the token. `onOvertaken` is told when somebody else was faster. */
export function CompleteToken({
  token,
  isBrief = false,
  onOvertaken,
}: {
  token: Token;
  /** Without what is seldom needed. */
  isBrief?: boolean;
  onOvertaken: (token: Token) => void;
}): ReactNode {
  const { id } = token;
  const completing: Completing = useAction<unknown, Completed>(
    async (place, data) => {
      try {
        return { completion: await complete(id, { ...place, data }) };
      } catch (error) {
        if (!isOvertaken(error)) throw error;
        return { overtakenBy: await get(at(getToken, { id }), place) };
      }
    },
    {
      isShownInPlace: true,
      onDone: (result) => {
        if ("overtakenBy" in result) onOvertaken(result.overtakenBy);
      },
    },
  );
  const form = completionForm(token);
  return (
    <div className="flex flex-col gap-2">
      {form.kind === "decision" && (
        <Decision property={form.property} question={purposeText(token)} completing={completing} />
      )}
      {form.kind === "fields" && <FieldsForm schema={form.schema} completing={completing} />}
      {form.kind === "json" && <JsonForm completing={completing} />}
      {form.kind !== "json" && !isBrief && (
        <details>
          <summary className="text-xs text-quiet">Complete with custom JSON</summary>
          <div className="mt-2">
            <JsonForm completing={completing} />
          </div>
        </details>
      )}
      {completing.error !== null && <ErrorPanel error={completing.error} />}
    </div>
  );
}
