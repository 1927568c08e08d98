import { useMutation, useQueryClient, type QueryKey, type UseMutationResult } from "@tanstack/react-query";
import { showToast } from "../ui/toast-store.ts";
import { usePlace, type Place } from "./place.ts";

export type ActionOptions<Result> = {
  /** Said when it has been done, for a moment. */
  done?: string | ((result: Result) => string);
  onDone?: (result: Result) => void;
  /** Failures are shown by the caller, beside what caused them. Absent: said for a moment. */
  isShownInPlace?: boolean;
};

/** Something a person does. What is shown under `key` is read again afterwards. */
export function useChange<Input = void, Result = unknown>(
  key: QueryKey,
  work: (input: Input) => Promise<Result>,
  { done, onDone, isShownInPlace = false }: ActionOptions<Result> = {},
): UseMutationResult<Result, Error, Input> {
  const queries = useQueryClient();
  return useMutation<Result, Error, Input>({
    mutationFn: work,
    onSuccess: async (result) => {
      if (done !== undefined) showToast({ text: typeof done === "function" ? done(result) : done });
      onDone?.(result);
      await queries.invalidateQueries({ queryKey: key });
    },
    onError: (error) => {
      if (!isShownInPlace) showToast({ error });
    },
  });
}

/** Something a person does to the environment. `work` is given the place, which bodies and queries carry. */
export function useAction<Input = void, Result = unknown>(
  work: (place: Place, input: Input) => Promise<Result>,
  options: ActionOptions<Result> = {},
): UseMutationResult<Result, Error, Input> {
  const place = usePlace();
  return useChange(["e", place.environment_id], (input: Input) => work(place, input), options);
}
