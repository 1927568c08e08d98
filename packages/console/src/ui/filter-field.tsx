import { useState, type ReactNode } from "react";
import { inputClass } from "./field.tsx";

/** A text that narrows a list. It is taken when it has been typed: at Enter, or when the field is left. */
export function FilterField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}): ReactNode {
  // What the address says is shown again when it changes, by the back button for example.
  return <Typed key={value ?? ""} label={label} value={value ?? ""} onChange={onChange} />;
}

function Typed({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string | undefined) => void;
}): ReactNode {
  const [text, setText] = useState(value);
  const take = (): void => {
    const wanted = text.trim();
    if (wanted !== value) onChange(wanted === "" ? undefined : wanted);
  };
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      className={inputClass}
      style={{ width: "11rem" }}
      value={text}
      onChange={({ target }) => setText(target.value)}
      onBlur={take}
      onKeyDown={({ key }) => {
        if (key === "Enter") take();
      }}
    />
  );
}

export function FilterSelect<Word extends string>({
  label,
  value,
  words,
  all = "Any",
  onChange,
}: {
  label: string;
  value: Word | undefined;
  words: readonly Word[];
  /** What is said when there is no filter. */
  all?: string;
  onChange: (value: Word | undefined) => void;
}): ReactNode {
  return (
    <select
      aria-label={label}
      className={inputClass}
      style={{ width: "auto" }}
      value={value ?? ""}
      onChange={({ target }) => onChange(words.find((word) => word === target.value))}
    >
      <option value="">{all}</option>
      {words.map((word) => (
        <option key={word} value={word}>
          {word}
        </option>
      ))}
    </select>
  );
}
