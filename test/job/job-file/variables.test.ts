import { describe, expect, it } from 'vitest';
import { expandVariables } from '../../../src/job/job-file/variables.ts';

const env = { HOST: 'api.example.com', EMPTY: '' };

describe('a variable', () => {
  it.each([
    ['https://${HOST}/v2', 'https://api.example.com/v2'],
    ['${HOST}${HOST}', 'api.example.comapi.example.com'],
    ['${HOST:-other}', 'api.example.com'],
    ['${NONE:-http://127.0.0.1:8080}', 'http://127.0.0.1:8080'],
    ['${NONE:-}', ''],
    ['${EMPTY}', ''],
    ['${EMPTY:-other}', 'other'],
    ['$${HOST}', '${HOST}'],
    ['$$${HOST}', '$${HOST}'],
    ['$HOST costs $5 {HOST}', '$HOST costs $5 {HOST}'],
  ])('in %j comes to %j', (text, expected) => {
    expect(expandVariables(text, env)).toMatchObject({ text: expected, problems: [] });
  });

  it.each([
    ['a ${NONE} b', '${NONE}', /no variable NONE; set it, or give a default: \$\{NONE:-…\}/],
    ['${a-b}', '${a-b}', /expected \$\{NAME\}/],
    ['${}', '${}', /expected \$\{NAME\}/],
    ['${NONE:-${HOST}}', '${NONE:-${HOST}', /whose default is plain text/],
    ['${HOST:-${NONE:-x}}', '${HOST:-${NONE:-x}', /whose default is plain text/],
    ['x ${HOST', '${HOST', /write \$\$\{/],
  ])('in %j is refused', (text, part, message) => {
    expect(expandVariables(text, env).problems).toEqual([
      { part, message: expect.stringMatching(message) },
    ]);
  });
});
