import type { ReactNode } from "react";
import { visibleText } from "../../ui/visible-text.ts";
import { ChatParts } from "./chat-parts.tsx";
import { Folded, Json } from "./folded.tsx";
import type { Row } from "./join-records.ts";

/** JSON up to this is one line. */
const LINE_CHARACTERS = 80;

/** The words of a row, or its JSON. Everything in it is text, whatever it looks like. */
export function MessageBody({ row }: { row: Row }): ReactNode {
  const { text, rest, others, parts, question, first } = row;
  const fields = Object.entries(rest);
  const hasWords = text !== null && (text !== "" || parts.length === 0);
  if (hasWords || parts.length > 0)
    return (
      <>
        {hasWords && <Folded text={text} direction="auto" className="whitespace-pre-wrap" />}
        <ChatParts parts={parts} />
        {question !== null && question.files.length > 0 && (
          <p className="text-xs break-all text-quiet">
            Files: <bdi>{visibleText(question.files.join(", "))}</bdi>
          </p>
        )}
        {fields.length > 0 && (
          <p className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-quiet">
            {fields.map(([name, value]) => (
              <bdi key={name} className="break-all">
                {visibleText(name)}: {visibleText(String(value))}
              </bdi>
            ))}
          </p>
        )}
        {others.length > 0 && <OtherPieces others={others} />}
      </>
    );
  return <Json data={others.length > 1 ? others : first.data} />;
}

/** What a message holds beside its words, such as calls of tools. */
const OtherPieces = ({ others }: { others: readonly unknown[] }): ReactNode => (
  <details className="mt-0.5 text-xs text-quiet">
    <summary className="cursor-pointer">
      {others.length === 1 ? "1 other piece" : `${others.length.toLocaleString()} other pieces`}
    </summary>
    <Json data={others} />
  </details>
);

/** JSON that is short enough to stand in one line, and carries no words. */
export function briefJson({ text, others, parts, first }: Row): string | null {
  if (text !== null || parts.length > 0 || others.length > 1) return null;
  const line = JSON.stringify(first.data);
  return line.length <= LINE_CHARACTERS ? visibleText(line) : null;
}
