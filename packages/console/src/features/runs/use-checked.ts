import { LIMITS } from "@keelson/contract/plain";
import { useCallback, useState } from "react";

const NONE: ReadonlySet<string> = new Set();

/** The runs that are chosen of a list. Another list begins with none. A bulk action names a bounded number of them. */
export function useChecked(list: string): {
  checked: ReadonlySet<string>;
  check: (runId: string, isChecked: boolean) => void;
} {
  const [state, setState] = useState({ list, checked: NONE });
  const check = useCallback(
    (runId: string, isChecked: boolean): void =>
      setState((before) => {
        const checked = new Set(before.list === list ? before.checked : NONE);
        if (isChecked && checked.size < LIMITS.bulkActionRuns) checked.add(runId);
        if (!isChecked) checked.delete(runId);
        return { list, checked };
      }),
    [list],
  );
  return { checked: state.list === list ? state.checked : NONE, check };
}
