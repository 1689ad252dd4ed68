/** Reasons why the sandbox could not be started. */
export type SandboxErrorCode =
  | 'sandbox_port_in_use'
  | 'sandbox_cannot_listen'
  | 'sandbox_invalid_option';

/** The sandbox could not be started; the message says what to change. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
