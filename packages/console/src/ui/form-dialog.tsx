import { useState, type ReactNode } from "react";
import { Button, type ButtonKind } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorPanel } from "./error-panel.tsx";
import { formValues, type FormValues } from "./form-values.ts";

/**
 * A button that opens a form. `onSubmit` rejects to show why it was refused: what was typed stays. When it resolves with
 * something, that is shown in the form's place until it is closed; otherwise the dialog closes.
 */
export function FormDialog({
  label,
  icon,
  kind = "plain",
  title,
  description,
  verb,
  onSubmit,
  children,
}: {
  label: string;
  icon?: ReactNode;
  kind?: ButtonKind;
  title: string;
  description?: ReactNode;
  verb: string;
  onSubmit: (values: FormValues) => Promise<ReactNode | void>;
  children: ReactNode;
}): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [result, setResult] = useState<ReactNode>(null);
  const open = (isNowOpen: boolean): void => {
    setIsOpen(isNowOpen);
    setError(null);
    setResult(null);
  };
  const submit = async (values: FormValues): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      const shown = await onSubmit(values);
      if (shown === undefined || shown === null) setIsOpen(false);
      else setResult(shown);
    } catch (failure) {
      setError(failure);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <>
      <Button kind={kind} icon={icon} onClick={() => open(true)}>
        {label}
      </Button>
      <Dialog
        title={title}
        {...(description !== undefined && result === null && { description })}
        isOpen={isOpen}
        onClose={() => open(false)}
      >
        {result ?? (
          <form className="flex flex-col gap-4" onSubmit={(event) => void submit(formValues(event))}>
            {children}
            {error !== null && <ErrorPanel error={error} />}
            <div className="flex justify-end gap-2">
              <Button onClick={() => open(false)}>Close</Button>
              <Button type="submit" kind="primary" isBusy={isBusy}>
                {verb}
              </Button>
            </div>
          </form>
        )}
      </Dialog>
    </>
  );
}
