import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { findProgram } from '../../support/find-program.ts';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'];
const ELSEWHERE = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

const HELP = `The browser tests are left out: there is no Chromium on this machine. To get one:
  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y --no-install-recommends chromium
  macOS            brew install --cask chromium
or name another in BRANDFILL_TEST_CHROMIUM.`;

/** The path of a Chromium, if there is one; says how to get one where there is none. */
export function findChromium(): string | undefined {
  const given = process.env['BRANDFILL_TEST_CHROMIUM'];
  const found = given === undefined ? findProgram(PROGRAMS, ELSEWHERE) : findProgram([], [given]);
  if (found === undefined) console.log(HELP);
  return found;
}

/** Starts it without a window for the tests of a block. Root cannot have its sandbox. */
export function useChromium(executablePath: string | undefined): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    browser = await chromium.launch({ executablePath: executablePath ?? '', args });
  });
  afterAll(async () => {
    await browser?.close();
  });
  return () => {
    if (!browser) throw new TypeError('there is a browser only while tests run');
    return browser;
  };
}
