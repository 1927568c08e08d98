import type { Pty, Workspace } from "@keelson/contract";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../../api/client.ts";
import { isNotFound } from "../../../api/use-follow.ts";
import { useAction } from "../../../api/use-action.ts";
import { useItem } from "../../../api/use-item.ts";
import { useList } from "../../../api/use-list.ts";
import { at } from "../../../api/route.ts";
import { closePty, createPty, getPty, listPtys } from "../../../api/routes/ptys.ts";
import { Async, Loading } from "../../../ui/async.tsx";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { useWorkspaceSearch } from "../use-workspace-search.ts";
import { noteNewTerminal } from "./new-terminals.ts";
import { PtyView } from "./pty-view.tsx";
import { TerminalPicker } from "./terminal-picker.tsx";

/** What a terminal of this page understands. */
const ENVIRONMENT = { TERM: "xterm-256color", COLORTERM: "truecolor" };

const isOver = ({ status }: Pty): boolean => status !== "pending" && status !== "running";

/** Terminals in the workspace. Which one is seen is in the address: a reload goes on with it. */
export function TerminalTab({ workspace }: { workspace: Workspace }): ReactNode {
  const [{ pty: chosen }, change] = useWorkspaceSearch();
  const params = { workspace_id: workspace.id };
  const list = useList(at(listPtys, params), { refetchMs: 2000 });
  const open = useAction<void, Pty>(
    (place) =>
      send(at(createPty, params), {
        body: { ...place, env: ENVIRONMENT, idempotency_key: crypto.randomUUID() },
      }),
    {
      isShownInPlace: true,
      onDone: ({ id }) => {
        noteNewTerminal(id);
        change({ pty: id });
      },
    },
  );
  const shown = chosen ?? list.rows.find((pty) => !isOver(pty))?.id;
  if (list.error !== null) return <ErrorPanel error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Loading />;
  const openButton = (
    <Button
      kind={shown === undefined ? "primary" : "plain"}
      icon={<Plus size={14} aria-hidden />}
      isBusy={open.isPending}
      onClick={() => open.mutate()}
    >
      New terminal
    </Button>
  );
  return (
    <div className="flex h-full min-h-0 flex-col gap-2">
      {(shown !== undefined || list.rows.length > 0) && (
        <div className="flex flex-wrap items-center gap-2">
          <TerminalPicker ptys={list.rows} shown={shown} onPick={(id) => change({ pty: id })} />
          {shown !== undefined && openButton}
        </div>
      )}
      {open.error !== null && <ErrorPanel error={open.error} />}
      {shown === undefined ? (
        <Empty
          title="No open terminals"
          action={openButton}
          command={`keelson workspace shell ${workspace.id}`}
        >
          A terminal runs in the workspace and goes on when you leave the page. Its changes are committed as a
          version when it ends.
        </Empty>
      ) : (
        <ChosenTerminal key={shown} workspace={workspace} ptyId={shown} />
      )}
    </div>
  );
}

function ChosenTerminal({ workspace, ptyId }: { workspace: Workspace; ptyId: string }): ReactNode {
  const params = { workspace_id: workspace.id, pty_id: ptyId };
  const result = useItem(at(getPty, params), { refetchMs: 2000 });
  const close = useAction((place) => send(at(closePty, params), { body: place }), {
    isShownInPlace: true,
  });
  if (isNotFound(result.error)) return <Empty title="Terminal not found" />;
  return (
    <Async result={result}>
      {(pty) => (
        <div className="flex min-h-0 flex-1 flex-col gap-2">
          <PtyView pty={pty} workspace={workspace} />
          {!isOver(pty) && !pty.closing && (
            <div className="flex justify-end">
              <ConfirmButton
                title="Hang up the terminal"
                description="Stopping ends all commands and terminals and commits their changes."
                verb="Hang up"
                onConfirm={() => close.mutateAsync()}
              >
                Hang up
              </ConfirmButton>
            </div>
          )}
        </div>
      )}
    </Async>
  );
}
