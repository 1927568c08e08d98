import { Terminal } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { CommandList } from "./command-list.tsx";
import type { Commands } from "./commands-of.ts";

/** What is looked at, as commands for a terminal. */
export function RunCommands({ commands }: { commands: () => Commands }): ReactNode {
  const [shown, setShown] = useState<Commands | null>(null);
  return (
    <>
      <Button icon={<Terminal size={15} aria-hidden />} onClick={() => setShown(commands())}>
        As a command
      </Button>
      {shown !== null && (
        <Dialog
          title="As a command"
          description="This page as commands. curl needs an API key of this environment in KEELSON_API_KEY. For keelson, signing in is enough."
          isOpen
          onClose={() => setShown(null)}
        >
          <CommandList commands={shown} />
        </Dialog>
      )}
    </>
  );
}
