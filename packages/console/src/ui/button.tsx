import type { ComponentProps, ReactNode } from "react";
import { cx } from "./class-names.ts";

export type ButtonKind = "primary" | "plain" | "danger" | "bare";

const KINDS: Record<ButtonKind, string> = {
  primary: "bg-accent text-on-accent border-transparent hover:opacity-90",
  plain: "bg-surface text-text border-line hover:bg-raised",
  danger: "bg-surface text-bad border-line hover:bg-bad-ground",
  bare: "bg-transparent text-quiet border-transparent hover:bg-raised hover:text-text",
};

/** The looks of a button, for links that act as one. */
export const buttonClass = (kind: ButtonKind = "plain"): string =>
  cx(
    "inline-flex items-center justify-center gap-1.5 rounded-md border px-3 py-1.5 text-sm font-medium whitespace-nowrap",
    "disabled:opacity-50 disabled:cursor-not-allowed transition-colors",
    KINDS[kind],
  );

type ButtonProps = ComponentProps<"button"> & {
  kind?: ButtonKind;
  icon?: ReactNode;
  /** Its action is under way: it cannot be asked for again. */
  isBusy?: boolean;
};

export function Button({
  kind = "plain",
  icon,
  isBusy = false,
  className,
  children,
  ...props
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...props}
      disabled={props.disabled === true || isBusy}
      aria-busy={isBusy || undefined}
      className={cx(buttonClass(kind), className)}
    >
      {icon}
      {children}
    </button>
  );
}

/** Shows an icon alone; `label` is its name to everyone who does not see it, and its tooltip. */
export function IconButton({
  label,
  children,
  className,
  kind = "bare",
  ...props
}: Omit<ButtonProps, "icon"> & { label: string }): ReactNode {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...props}
      className={cx(
        "inline-flex size-8 shrink-0 items-center justify-center rounded-md border disabled:opacity-50",
        KINDS[kind],
        className,
      )}
    >
      {children}
    </button>
  );
}
