/** The part of tr46 that is used here; the package ships no types. */
declare module 'tr46' {
  export interface ToAsciiOptions {
    readonly checkBidi?: boolean;
    readonly checkHyphens?: boolean;
    readonly checkJoiners?: boolean;
  }
  /** The domain in ASCII, or null when UTS #46 finds an error in it. */
  export function toASCII(domainName: string, options?: ToAsciiOptions): string | null;
}
