import type { SavedView } from "@keelson/contract";
import { Bookmark, Pencil, Trash2 } from "lucide-react";
import { useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { at } from "../../api/route.ts";
import {
  createSavedView,
  deleteSavedView,
  listSavedViews,
  updateSavedView,
} from "../../api/routes/saved-views.ts";
import { useRows } from "../../api/use-rows.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { TextField } from "../../ui/field.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { readRunsSearch, type RunsSearch } from "./run-columns.ts";

const DESCRIPTION =
  "A view is a list of runs with its filters and columns. Only you see your views. The address of the page shows everyone the same list.";
/** A person has fewer. */
const ALL = 200;

type ViewsProps = { view: RunsSearch; onOpen: (view: RunsSearch) => void };

/** The lists that the person has named in this environment. */
export function SavedViews(props: ViewsProps): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button icon={<Bookmark size={14} aria-hidden />} onClick={() => setIsOpen(true)}>
        Views
      </Button>
      {isOpen && <ViewsDialog {...props} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function ViewsDialog({ view, onOpen, onClose }: ViewsProps & { onClose: () => void }): ReactNode {
  const place = usePlace();
  const list = useRows(["e", place.environment_id], at(listSavedViews, place), {}, { limit: ALL });
  const [name, setName] = useState("");
  /** The view that is being renamed. */
  const [renamed, setRenamed] = useState<SavedView | null>(null);
  const [error, setError] = useState<unknown>(null);
  const change = async (work: () => Promise<unknown>): Promise<void> => {
    setError(null);
    try {
      await work();
      setName("");
      setRenamed(null);
      list.refetch();
    } catch (failure) {
      setError(failure);
    }
  };
  const rename = (saved: SavedView): void => {
    setRenamed(saved);
    setName(saved.name);
  };
  const submit = (): void => {
    const { columns = null, ...filter } = view;
    void change(() =>
      renamed === null
        ? send(at(createSavedView, place), { body: { name: name.trim(), filter, columns } })
        : send(at(updateSavedView, { ...place, id: renamed.id }), { body: { name: name.trim() } }),
    );
  };
  return (
    <Dialog title="Saved views" description={DESCRIPTION} isOpen onClose={onClose}>
      <form
        className="flex items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <div className="flex-1">
          <TextField
            label={renamed === null ? "Name of this view" : `New name of ${renamed.name}`}
            value={name}
            maxLength={128}
            required
            onChange={({ target }) => setName(target.value)}
          />
        </div>
        <Button type="submit" kind="primary" disabled={name.trim() === ""}>
          {renamed === null ? "Save view" : "Rename view"}
        </Button>
      </form>
      {error !== null && <ErrorPanel error={error} />}
      {list.error !== null && <ErrorPanel error={list.error} />}
      <ViewList
        views={list.isPending ? null : list.rows}
        onOpen={(saved) => {
          onClose();
          onOpen(searchOf(saved));
        }}
        onRename={rename}
        onDelete={({ id }) => void change(() => send(at(deleteSavedView, { ...place, id })))}
      />
    </Dialog>
  );
}

/** The address of the page that a view stands for. */
const searchOf = ({ filter, columns }: SavedView): RunsSearch =>
  readRunsSearch({ ...filter, ...(columns !== null && { columns }) });

type ViewListProps = {
  /** Null while they are being read. */
  views: readonly SavedView[] | null;
  onOpen: (view: SavedView) => void;
  onRename: (view: SavedView) => void;
  onDelete: (view: SavedView) => void;
};

function ViewList({ views, onOpen, onRename, onDelete }: ViewListProps): ReactNode {
  if (views?.length === 0) return <p className="text-quiet">No saved views yet.</p>;
  return (
    <ul aria-label="Saved views" className="flex flex-col">
      {views?.map((view) => (
        <li key={view.id} className="flex items-center gap-1 border-t border-line py-1">
          <Button kind="bare" className="min-w-0 flex-1 justify-start" onClick={() => onOpen(view)}>
            <bdi className="truncate">{visibleText(view.name)}</bdi>
          </Button>
          <IconButton label={`Rename ${view.name}`} onClick={() => onRename(view)}>
            <Pencil size={14} aria-hidden />
          </IconButton>
          <IconButton label={`Delete ${view.name}`} onClick={() => onDelete(view)}>
            <Trash2 size={14} aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
