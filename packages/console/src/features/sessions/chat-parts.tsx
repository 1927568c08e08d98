import type { ChatPart, ToolCallPart, ToolCallState } from "@keelson/contract/chat";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { Folded, Json } from "./folded.tsx";

/** An answer of a chat: its words, what it thought, and the tools that it called. */
export const ChatParts = ({ parts }: { parts: readonly ChatPart[] }): ReactNode => (
  <div className="flex flex-col gap-1.5">
    {parts.map((part, index) => (
      <Part key={keyOf(part, index)} part={part} />
    ))}
  </div>
);

/** Parts are added at the end, and never moved. */
const keyOf = (part: ChatPart, index: number): string =>
  part.kind === "tool" ? part.callId : `${part.kind}${index}`;

function Part({ part }: { part: ChatPart }): ReactNode {
  switch (part.kind) {
    case "text":
      return part.text === "" ? null : (
        <Folded text={part.text} direction="auto" className="whitespace-pre-wrap" />
      );
    case "reasoning":
      return part.text === "" ? null : (
        <details className="text-xs text-quiet">
          <summary className="cursor-pointer">Reasoning</summary>
          <Folded text={part.text} direction="auto" className="whitespace-pre-wrap" />
        </details>
      );
    case "error":
      return (
        <p className="text-bad">
          <bdi>{visibleText(part.text)}</bdi>
        </p>
      );
    case "file":
    case "source":
      return (
        <p className="text-xs break-all text-quiet">
          {part.kind === "file" ? "File: " : "Source: "}
          <bdi>{visibleText(part.text)}</bdi>
        </p>
      );
    case "tool":
      return <ToolCall call={part} />;
  }
}

const STATES: Record<ToolCallState, { word: string; tone: Tone }> = {
  called: { word: "called", tone: "neutral" },
  asked: { word: "waits for approval", tone: "warn" },
  approved: { word: "approved", tone: "neutral" },
  denied: { word: "denied", tone: "warn" },
  done: { word: "done", tone: "good" },
  failed: { word: "failed", tone: "bad" },
};

function ToolCall({ call: { tool, state, input, output, approvalId } }: { call: ToolCallPart }): ReactNode {
  const { environmentId } = useParams({ from: "/signed-in/e/$environmentId" });
  const { word, tone } = STATES[state];
  return (
    <div className="flex flex-col gap-1 rounded border border-line px-2 py-1 text-xs">
      <div className="flex flex-wrap items-center gap-2">
        <code className="font-mono">{tool === "" ? "a tool" : visibleText(tool)}</code>
        {approvalId === null ? (
          <Badge tone={tone}>{word}</Badge>
        ) : (
          <Link to="/e/$environmentId/tokens/$tokenId" params={{ environmentId, tokenId: approvalId }}>
            <Badge tone={tone}>{word}</Badge>
          </Link>
        )}
      </div>
      {input !== undefined && <Detail name="Input" value={input} />}
      {output !== undefined && <Detail name={state === "failed" ? "Error" : "Output"} value={output} />}
    </div>
  );
}

const Detail = ({ name, value }: { name: string; value: unknown }): ReactNode => (
  <details>
    <summary className="cursor-pointer text-quiet">{name}</summary>
    <Json data={value} />
  </details>
);
