import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { useRef, useState, type ReactNode } from "react";
import { Button, IconButton } from "./button.tsx";
import { ErrorPanel } from "./error-panel.tsx";
import { TextField } from "./field.tsx";

/** What a dialog is opened for: where its first text is typed, and otherwise the first thing to press but its ×. */
const firstOf = (content: HTMLElement): HTMLElement | null =>
  content.querySelector<HTMLElement>(
    "input:not([type=hidden], :disabled), textarea:not(:disabled), select:not(:disabled)",
  ) ?? content.querySelector<HTMLElement>("button:not([data-closes], :disabled), a[href]");

/** A dialog over the page; Escape and a click beside it close it, and the focus goes back to where it was. */
export function Dialog({
  title,
  description,
  isOpen,
  onClose,
  children,
}: {
  title: string;
  description?: ReactNode;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const content = useRef<HTMLDivElement>(null);
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-overlay" />
        <Radix.Content
          ref={content}
          onOpenAutoFocus={(event) => {
            const first = content.current === null ? null : firstOf(content.current);
            if (first === null) return;
            event.preventDefault();
            first.focus();
          }}
          {...(description === undefined && { "aria-describedby": undefined })}
          className="fixed top-1/2 left-1/2 z-50 flex max-h-[90vh] w-[min(36rem,94vw)] -translate-x-1/2 -translate-y-1/2 flex-col gap-4 overflow-y-auto rounded-xl border border-line bg-surface p-5 shadow-xl"
        >
          <div className="flex items-start justify-between gap-3">
            <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label="Close" data-closes>
                <X size={16} aria-hidden />
              </IconButton>
            </Radix.Close>
          </div>
          {description !== undefined && (
            <Radix.Description asChild>
              <div className="text-quiet">{description}</div>
            </Radix.Description>
          )}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

type Confirmation = {
  title: string;
  /** What happens then, and whether it can be undone. */
  description: ReactNode;
  /** What must be typed, for what cannot be undone. */
  name?: string;
  verb: string;
  kind?: "danger" | "primary";
  /** The button that leaves everything as it is. */
  dismissal?: string;
  /** Rejects to show why it failed; the dialog stays open. */
  onConfirm: () => Promise<unknown>;
};

/** A button that asks before it does what it says. */
export function ConfirmButton({
  children,
  icon,
  ...confirmation
}: Confirmation & { children: ReactNode; icon?: ReactNode }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button kind="danger" icon={icon} onClick={() => setIsOpen(true)}>
        {children}
      </Button>
      {isOpen && <ConfirmDialog {...confirmation} onClose={() => setIsOpen(false)} />}
    </>
  );
}

export function ConfirmDialog({
  title,
  description,
  name,
  verb,
  kind = "danger",
  dismissal = "Keep",
  onConfirm,
  onClose,
}: Confirmation & { onClose: () => void }): ReactNode {
  const [typed, setTyped] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async (): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError(failure);
      setIsBusy(false);
    }
  };
  return (
    <Dialog title={title} description={description} isOpen onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        {name !== undefined && (
          <TextField
            label={`Type ${name} to confirm`}
            value={typed}
            autoComplete="off"
            onChange={({ target }) => setTyped(target.value)}
          />
        )}
        {error !== null && <ErrorPanel error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{dismissal}</Button>
          <Button type="submit" kind={kind} isBusy={isBusy} disabled={name !== undefined && typed !== name}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
