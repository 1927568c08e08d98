import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { visibleText } from "../../../ui/visible-text.ts";

/** An address from the output of a program: shown as it is before anyone goes there. */
export function LinkDialog({ url, onClose }: { url: string; onClose: () => void }): ReactNode {
  return (
    <Dialog
      title="Open this address?"
      description="A program in the workspace wrote this file."
      isOpen
      onClose={onClose}
    >
      <p className="font-mono text-xs break-all">{visibleText(new URL(url).href)}</p>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Stay here</Button>
        <a
          href={new URL(url).href}
          target="_blank"
          rel="noopener noreferrer"
          onClick={onClose}
          className={buttonClass("primary")}
        >
          <ExternalLink size={14} aria-hidden /> Open in a new tab
        </a>
      </div>
    </Dialog>
  );
}
