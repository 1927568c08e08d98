import { useVirtualizer } from "@tanstack/react-virtual";
import type { FileKind } from "@keelson/contract";
import { ChevronDown, ChevronRight, File, FileSymlink, Folder, FolderOpen } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { cx } from "../../../ui/class-names.ts";
import { visibleText } from "../../../ui/visible-text.ts";
import { moveOf, treeRows, type Directory, type EntryRow, type TreeRow } from "./tree-rows.ts";

const ROW_PX = 26;
const rowId = (index: number): string => `file-row-${index}`;

/** The files of a version as a tree: of thousands of rows those in sight are there. */
export function FileTree({
  directories,
  expanded,
  selected,
  onToggle,
  onOpen,
}: {
  directories: ReadonlyMap<string, Directory>;
  expanded: ReadonlySet<string>;
  selected: string | null;
  onToggle: (path: string, isExpanded: boolean) => void;
  onOpen: (path: string) => void;
}): ReactNode {
  const rows = treeRows(directories, expanded);
  const box = useRef<HTMLDivElement>(null);
  const [activeKey, setActiveKey] = useState<string | null>(selected);
  const activeIndex = rows.findIndex(({ kind, key }) => kind === "entry" && key === activeKey);
  // oxlint-disable-next-line react-hooks/incompatible-library -- its answer is used in this render alone
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  const showActive = useEffectEvent(() => {
    if (activeIndex >= 0) virtualizer.scrollToIndex(activeIndex, { align: "auto" });
  });
  const isActiveShown = activeIndex >= 0;
  useEffect(() => {
    if (activeKey !== null && isActiveShown) showActive();
  }, [activeKey, isActiveShown]);

  const { onKeyDown, onClick } = reactions(rows, { activeKey, setActiveKey, onOpen, onToggle });

  return (
    <div
      ref={box}
      role="tree"
      aria-label="Files"
      tabIndex={0}
      aria-activedescendant={activeIndex >= 0 ? rowId(activeIndex) : undefined}
      onKeyDown={onKeyDown}
      onFocus={() => {
        if (activeIndex < 0) setActiveKey(rows.find(({ kind }) => kind === "entry")?.key ?? null);
      }}
      className="group min-h-0 flex-1 overflow-auto py-1 focus-visible:outline-offset-[-2px]"
    >
      <div role="none" className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <Row
              key={key}
              row={row}
              index={index}
              top={start}
              isActive={index === activeIndex}
              isSelected={row.kind === "entry" && row.key === selected}
              onClick={() => onClick(row)}
            />
          );
        })}
      </div>
    </div>
  );
}

/** What keys and clicks do. */
function reactions(
  rows: readonly TreeRow[],
  {
    activeKey,
    setActiveKey,
    onOpen,
    onToggle,
  }: {
    activeKey: string | null;
    setActiveKey: (key: string) => void;
    onOpen: (path: string) => void;
    onToggle: (path: string, isExpanded: boolean) => void;
  },
): { onKeyDown: (event: KeyboardEvent) => void; onClick: (row: TreeRow) => void } {
  return {
    onKeyDown: (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const move = moveOf(rows, activeKey, event.key);
      if (move === null) return;
      event.preventDefault();
      if (move.kind === "go") setActiveKey(move.key);
      else if (move.kind === "open") onOpen(move.entry.path);
      else onToggle(move.path, move.kind === "expand");
    },
    onClick: (row) => {
      if (row.kind !== "entry") return;
      setActiveKey(row.key);
      if (row.isExpanded === null) onOpen(row.key);
      else onToggle(row.key, !row.isExpanded);
    },
  };
}

function Row({
  row,
  index,
  top,
  isActive,
  isSelected,
  onClick,
}: {
  row: TreeRow;
  index: number;
  top: number;
  isActive: boolean;
  isSelected: boolean;
  onClick: () => void;
}): ReactNode {
  const isEntry = row.kind === "entry";
  return (
    <div
      id={rowId(index)}
      role="treeitem"
      tabIndex={-1}
      aria-level={row.level}
      {...(isEntry
        ? {
            "aria-posinset": row.position,
            "aria-setsize": row.setSize,
            "aria-selected": isSelected,
            ...(row.isExpanded !== null && { "aria-expanded": row.isExpanded }),
          }
        : { "aria-disabled": true })}
      onClick={onClick}
      className={cx(
        "absolute inset-x-1 flex cursor-default items-center gap-1.5 rounded px-1 text-sm whitespace-nowrap",
        isSelected ? "bg-accent-ground text-accent" : isEntry ? "hover:bg-raised" : "text-quiet",
        isActive && "group-focus-visible:outline-2 group-focus-visible:outline-accent",
      )}
      style={{ top, height: ROW_PX, paddingLeft: `${(row.level - 1) * 14 + 4}px` }}
    >
      {isEntry ? <EntryLabel row={row} /> : <span className="truncate pl-5">{row.text}</span>}
    </div>
  );
}

function EntryLabel({ row: { entry, isExpanded } }: { row: EntryRow }): ReactNode {
  const name = visibleText(entry.name);
  return (
    <>
      <EntryIcon kind={entry.kind} isExpanded={isExpanded} />
      <bdi dir="ltr" className="truncate" title={name}>
        {name}
      </bdi>
      {entry.kind === "symlink" && (
        <bdi dir="ltr" className="truncate text-quiet">
          → {visibleText(entry.link_target ?? "")}
        </bdi>
      )}
    </>
  );
}

const ICON = { size: 14, "aria-hidden": true, className: "shrink-0 text-quiet" } as const;

function EntryIcon({ kind, isExpanded }: Pick<EntryRow, "isExpanded"> & { kind: FileKind }): ReactNode {
  if (isExpanded === null)
    return (
      <>
        <span className="w-3.5 shrink-0" />
        {kind === "symlink" ? <FileSymlink {...ICON} /> : <File {...ICON} />}
      </>
    );
  return isExpanded ? (
    <>
      <ChevronDown {...ICON} />
      <FolderOpen {...ICON} />
    </>
  ) : (
    <>
      <ChevronRight {...ICON} />
      <Folder {...ICON} />
    </>
  );
}
