/** For `skipIf`: whether tests are left out here, with the reason, which it prints. */
export function isLeftOut(reason: string | false): boolean {
  if (reason !== false) console.log(`Left out: ${reason}.`);
  return reason !== false;
}
