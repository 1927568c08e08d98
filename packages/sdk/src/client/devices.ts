import type { DeviceToken, StartedDevice } from "./resources.ts";
import type { RequestOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { deviceTokenShape, startedDeviceShape } from "./wire-shapes.ts";

/**
 * `client.devices`: a person signs in to a program without a browser, and approves it in a browser elsewhere (RFC 8628).
 * The client needs no credential.
 */
export type DevicesApi = {
  /**
   * Begins a sign-in. The person opens the link and compares the code. `clientId` is the program's name on that page.
   *
   * @example
   * ```ts
   * const started = await client.devices.start({ clientId: "reports on build-7" });
   * console.log(started.verificationUriComplete, started.userCode);
   * ```
   */
  start(device?: { clientId?: string | undefined }, options?: RequestOptions): Promise<StartedDevice>;
  /**
   * Returns the session when the person has approved. Call it every `interval` seconds. Before that, it rejects with an
   * ApiError `authorization_pending` or `slow_down`, and finally with `access_denied` or `expired_token`.
   *
   * @example
   * ```ts
   * const { deviceCode } = await client.devices.start();
   * const { accessToken } = await client.devices.token(deviceCode);
   * ```
   */
  token(deviceCode: string, options?: RequestOptions): Promise<DeviceToken>;
};

export const createDevicesApi = (transport: Transport): DevicesApi => ({
  start: ({ clientId } = {}, options = {}) =>
    transport.ask(startedDeviceShape, {
      method: "POST",
      path: "/api/auth/device/start",
      body: { json: { client_id: clientId } },
      ...options,
    }),
  token: (deviceCode, options = {}) =>
    transport.ask(deviceTokenShape, {
      method: "POST",
      path: "/api/auth/device/token",
      body: { json: { device_code: deviceCode } },
      ...options,
    }),
});
