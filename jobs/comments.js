// A rule of the linter: comments are no wider than code, whose formatter leaves them as they are.
// What cannot be wrapped is left alone: an address, and what the linter is told.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { formatter } = JSON.parse(readFileSync(join(import.meta.dirname, '../biome.json'), 'utf8'));
const WHOLE = /oxlint-disable|https?:\/\/\S{60}/;

function create(context) {
  return {
    Program() {
      const { lines } = context.sourceCode;
      for (const { loc } of context.sourceCode.getAllComments()) {
        for (let line = loc.start.line; line <= loc.end.line; line += 1) {
          const { length } = lines[line - 1];
          if (length <= formatter.lineWidth || WHOLE.test(lines[line - 1])) continue;
          const message = `This comment is ${length} columns wide: wrap it at ${formatter.lineWidth}.`;
          const [start, end] = [0, length].map((column) => ({ line, column }));
          context.report({ loc: { start, end }, message });
        }
      }
    },
  };
}

export default { meta: { name: 'comments' }, rules: { width: { create } } };
