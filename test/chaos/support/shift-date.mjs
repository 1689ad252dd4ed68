// Loaded before the command: it lives so many milliseconds from now.
const shiftMs = Number(process.env['BRANDFILL_TEST_SHIFT_MS'] ?? 0);
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + shiftMs] : args));
  }

  static now() {
    return RealDate.now() + shiftMs;
  }
};
