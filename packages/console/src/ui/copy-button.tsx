import { Check, Copy } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { IconButton } from "./button.tsx";

const SHOWN_MS = 1500;

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): ReactNode {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setIsCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <IconButton
      label={isCopied ? "Copied" : label}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setIsCopied(true))}
    >
      {isCopied ? <Check size={15} aria-hidden /> : <Copy size={15} aria-hidden />}
    </IconButton>
  );
}

/** A command or a text to take elsewhere. */
export function CopyText({ text }: { text: string }): ReactNode {
  return (
    <div className="flex items-start gap-2 rounded-md border border-line bg-raised py-1 pr-1 pl-3">
      <pre tabIndex={0} className="min-w-0 flex-1 overflow-x-auto py-1.5 font-mono text-xs">
        <code>{text}</code>
      </pre>
      <CopyButton text={text} />
    </div>
  );
}

/** An id, to recognize and to take elsewhere. */
export function Id({ value }: { value: string }): ReactNode {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="truncate font-mono text-xs" title={value}>
        {value}
      </code>
      <CopyButton text={value} label={`Copy ${value}`} />
    </span>
  );
}
