import { useNavigate } from "@tanstack/react-router";
import { useState, type KeyboardEvent, type ReactNode } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { cx } from "../ui/class-names.ts";
import { inputClass } from "../ui/field.tsx";
import { useCommands } from "./commands.ts";

/** Goes to a page, an environment, or whatever an id names, by the keyboard alone. */
export function CommandPalette({ onClose }: { onClose: () => void }): ReactNode {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const navigate = useNavigate();
  const commands = useCommands(text);
  const at = Math.min(selected, commands.length - 1);
  const choose = (index: number): void => {
    const command = commands[index];
    if (command === undefined) return;
    onClose();
    if ("to" in command) void navigate({ href: command.to });
    else command.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setSelected(Math.min(at + 1, commands.length - 1));
    else if (event.key === "ArrowUp") setSelected(Math.max(at - 1, 0));
    else if (event.key === "Enter") choose(at);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" isOpen onClose={onClose}>
      <input
        role="combobox"
        aria-expanded
        aria-controls="commands"
        aria-activedescendant={commands[at] === undefined ? undefined : `command-${at}`}
        aria-label="Page, task, run, session, workspace, action or id"
        placeholder="A page, a task, words of a run, an id such as run_… or an action"
        className={inputClass}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setSelected(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="commands" role="listbox" aria-label="Results" className="max-h-80 overflow-y-auto">
        {commands.map(({ label, detail, ...rest }, index) => (
          <li
            key={"to" in rest ? rest.to : label}
            id={`command-${index}`}
            role="option"
            aria-selected={index === at}
            className={cx("flex justify-between gap-4 rounded px-2 py-1.5", index === at && "bg-raised")}
            onMouseMove={() => setSelected(index)}
            onClick={() => choose(index)}
          >
            <span>{label}</span>
            <span className="truncate text-quiet">{detail}</span>
          </li>
        ))}
      </ul>
      {commands.length === 0 && <p className="text-quiet">No results.</p>}
    </Dialog>
  );
}
