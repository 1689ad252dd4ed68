import { describe, expect, it } from 'vitest';
import { createBrandAnswer, hashText } from '../../src/sandbox/brand-answer.ts';
import { createDomains } from './sandboxes.ts';

const answers = createDomains(2000).map((domain) => createBrandAnswer(domain, hashText(domain, 1)));

describe('brand answers', () => {
  it('are about as long as real ones', () => {
    const sizes = answers.map((answer) => Buffer.byteLength(JSON.stringify(answer)));
    expect(Math.min(...sizes)).toBeGreaterThan(600);
    expect(Math.max(...sizes)).toBeLessThan(1050);
  });

  it.each(['=', '+', '-', '@'])('sometimes have a name that starts with %s', (sign) => {
    expect(answers.some(({ name }) => name.startsWith(sign))).toBe(true);
  });

  it.each(['"', ',', '\n', '\r\n', 'ą'])('have %j in some texts', (text) => {
    expect(answers.some(({ about }) => about.includes(text))).toBe(true);
  });
});
