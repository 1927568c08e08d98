import type { Session } from "@keelson/contract";
import { DEFAULT_INPUT_STREAM } from "@keelson/contract/plain";
import { ApiError } from "@keelson/sdk/browser";
import { useRef, useState } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { at, type AnswerOf, type BodyOf, type Filled } from "../../api/route.ts";
import { appendSessionInput } from "../../api/routes/streams.ts";
import { formOfData, toInputData, type InputForm } from "./input-message.ts";
import type { Row } from "./join-records.ts";

export type Draft = {
  typed: string;
  stream: string;
  /** Null: as what was sent last. */
  form: InputForm | null;
  /** Empty for none. */
  correlation: string;
};

export type Composing = {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  form: InputForm;
  problem: string | null;
  error: Error | null;
  isSending: boolean;
  submit: () => void;
};

const EMPTY: Draft = { typed: "", stream: DEFAULT_INPUT_STREAM, form: null, correlation: "" };

/** What is typed until it has been sent. What was refused, or may not have arrived, stays; `onSent` is told of the rest. */
export function useComposer(session: Session, rows: readonly Row[], onSent: () => void): Composing {
  const [draft, setDraft] = useState(EMPTY);
  const [problem, setProblem] = useState<string | null>(null);
  // The key of what was sent last and not answered well: the same again is a repeat, anything else is not.
  const pending = useRef<{ content: string; key: string } | null>(null);
  const { typed, stream, correlation } = draft;
  const lastSent = rows.findLast((row) => row.direction === "input" && row.stream === stream);
  const form = draft.form ?? (lastSent === undefined ? "text" : formOfData(lastSent.first.data));
  const route = at(appendSessionInput, { id: session.id, stream });
  const action = useAction<{ data: unknown; key: string }>(
    (place, { data, key }) =>
      sendTwice(route, {
        ...place,
        data,
        ...(correlation !== "" && { correlation_id: correlation }),
        idempotency_key: key,
      }),
    {
      isShownInPlace: true,
      onDone: () => {
        pending.current = null;
        setDraft((before) => ({ ...before, typed: "" }));
        onSent();
      },
    },
  );
  const submit = (): void => {
    if (action.isPending || typed.trim() === "") return;
    const input = toInputData(form, typed);
    setProblem("problem" in input ? input.problem : null);
    if ("problem" in input) return;
    const content = JSON.stringify([stream, correlation, input.data]);
    if (pending.current?.content !== content) pending.current = { content, key: crypto.randomUUID() };
    action.mutate({ data: input.data, key: pending.current.key });
  };
  const change = (changes: Partial<Draft>): void => setDraft({ ...draft, ...changes });
  return { draft, change, form, problem, error: action.error, isSending: action.isPending, submit };
}

type InputRoute = Filled<typeof appendSessionInput>;

/** A lost answer is asked for once more: with its key the request has one effect. */
async function sendTwice(route: InputRoute, body: BodyOf<InputRoute>): Promise<AnswerOf<InputRoute>> {
  try {
    return await send(route, { body });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.outcomeUnknown) throw error;
    return send(route, { body });
  }
}
