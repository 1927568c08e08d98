import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { showToast } from "../ui/toast-store.ts";
import { usePlace, type Place } from "./place.ts";

export type ActionOptions<Result> = {
  /** Said when it has been done, for a moment. */
  done?: string | ((result: Result) => string);
  onDone?: (result: Result) => void;
  /** Failures are shown by the caller, beside what caused them. Absent: said for a moment. */
  isShownInPlace?: boolean;
};

/**
 * Something a person does to the environment. What is shown of it is read again afterwards. `work` is given the place,
 * which bodies and queries carry.
 */
export function useAction<Input = void, Result = unknown>(
  work: (place: Place, input: Input) => Promise<Result>,
  { done, onDone, isShownInPlace = false }: ActionOptions<Result> = {},
): UseMutationResult<Result, Error, Input> {
  const place = usePlace();
  const queries = useQueryClient();
  return useMutation<Result, Error, Input>({
    mutationFn: (input) => work(place, input),
    onSuccess: async (result) => {
      if (done !== undefined) showToast({ text: typeof done === "function" ? done(result) : done });
      onDone?.(result);
      await queries.invalidateQueries({ queryKey: ["e", place.environment_id] });
    },
    onError: (error) => {
      if (!isShownInPlace) showToast({ error });
    },
  });
}
