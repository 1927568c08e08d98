import { isToolUIPart } from "ai";
import { textOf, type PageChat } from "./chat-message.ts";

/** Whole answers rather than words, for those who listen. */
function announcementOf({ status, messages }: PageChat): string {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return "";
  if (status === "ready") return textOf(last);
  const asks = last.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested");
  return asks ? "The assistant asks for your approval." : "";
}

export const Announcer = ({ chat }: { chat: PageChat }) => (
  <div className="hidden" role="status">
    {announcementOf(chat)}
  </div>
);
