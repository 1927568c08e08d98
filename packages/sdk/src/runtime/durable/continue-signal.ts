import { KeelsonError } from "../../keelson-error.ts";

/** What `ctx.continueAs()` throws, so that the code goes no further. The run continues whoever catches it. */
export class ContinueSignal extends KeelsonError {
  override readonly name = "ContinueSignal";

  constructor() {
    super("The run continues with an empty journal. Do not catch this: nothing of the code counts after it.");
  }
}
