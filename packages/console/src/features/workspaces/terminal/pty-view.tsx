import type { OutputChunk, Pty, Workspace } from "@keelson/contract";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { get, openInput, send } from "../../../api/client.ts";
import { usePlace } from "../../../api/place.ts";
import { useFollow } from "../../../api/use-follow.ts";
import { at } from "../../../api/route.ts";
import { getPty, readPtyOutput, resizePty, writePty } from "../../../api/routes/ptys.ts";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { createByteReader } from "../output-reader.ts";
import { LinkDialog } from "./link-dialog.tsx";
import { takeNewTerminal } from "./new-terminals.ts";
import { createInputBatches } from "./pty-input.ts";
import { PtyState, type PtyEnd } from "./pty-state.tsx";
import type { ScreenSize } from "./screen.ts";
import { useFit, useScreen } from "./use-screen.ts";

/**
 * A terminal on the page. Its output is shown from the beginning that the server keeps, so a page that comes later sees
 * what one that was there from the start does. What was written before this page was there is not answered again: a
 * program that asked the terminal something then had its answer, or none.
 */
export function PtyView({ pty, workspace }: { pty: Pty; workspace: Workspace }): ReactNode {
  const place = usePlace();
  const params = { workspace_id: workspace.id, pty_id: pty.id };
  const box = useRef<HTMLDivElement>(null);
  const [reader] = useState(createByteReader);
  const [shownBefore] = useState(() => (takeNewTerminal(pty.id) ? 0 : pty.output.bytes));
  const [isCurrent, setIsCurrent] = useState(shownBefore === 0);
  const [isCut, setIsCut] = useState(false);
  const [ended, setEnded] = useState<PtyEnd | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [link, setLink] = useState<string | null>(null);
  const [input] = useState(() =>
    createInputBatches(
      openInput(at(writePty, params), place, async () => (await get(at(getPty, params), place)).input.bytes),
      setFailure,
    ),
  );
  const screen = useScreen(box, pty, { onInput: input.push, onLink: setLink });
  const isOpen = isCurrent && ended === null && !pty.closing;
  const follow = useFollow(screen === null ? null : at(readPtyOutput, params), {
    onEvents: (events) => {
      for (const { event, data } of events)
        if (event === "chunk" && screen !== null) {
          const bytes = reader.take(data as OutputChunk);
          const isLastBefore = reader.position() >= shownBefore;
          void screen.write(bytes).then(() => isLastBefore && setIsCurrent(true));
        } else if (event === "end") setEnded(data as PtyEnd);
    },
    onGap: () => setIsCut(true),
  });
  useEffect(() => {
    screen?.setInput(isOpen);
    if (isOpen) screen?.focus();
  }, [screen, isOpen]);
  const resize = ({ cols, rows }: ScreenSize): Promise<unknown> =>
    send(at(resizePty, params), { body: { ...place, cols, rows } });
  useFit(box, isCurrent ? screen : null, (size) => {
    if (ended === null && !pty.closing) void resize(size).catch(setFailure);
  });

  return (
    <div className="flex min-h-0 flex-1 flex-col gap-2">
      <PtyState
        pty={pty}
        workspace={workspace}
        follow={follow.state}
        isCurrent={isCurrent}
        isCut={isCut}
        ended={ended}
      />
      {follow.state === "failed" && <ErrorPanel error={follow.error} />}
      {failure !== null && ended === null && <ErrorPanel error={failure} />}
      <div
        ref={box}
        data-terminal
        tabIndex={-1}
        className="min-h-64 flex-1 overflow-hidden rounded-lg border border-line bg-surface p-2"
      />
      {link !== null && <LinkDialog url={link} onClose={() => setLink(null)} />}
    </div>
  );
}
