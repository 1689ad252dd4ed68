import type { ProgressView } from '../views/progress-view.ts';
import { createLiveBlock, type Host, type Terminal } from './live-block.ts';
import { logosBlock } from './logos-block.ts';
import { createLookupsBlock } from './lookups-block.ts';
import { createPaint } from './paint.ts';
import { barLine } from './progress-bar.ts';

/** Shows progress in a block at the bottom of a terminal; the lookups stay above the logos. */
export function createProgressBlock(
  terminal: Terminal & { readonly hasColors?: () => boolean },
  host?: Host,
): ProgressView {
  const block = createLiveBlock(terminal, host);
  const paint = createPaint(terminal);
  const lookups = createLookupsBlock(paint);
  let shown: 'lookups' | 'logos' | 'rows' | undefined;

  function begin(of: typeof shown): void {
    if (shown !== of) block.end();
    shown = of;
  }

  return {
    show: (progress) => {
      if (progress.lookups === 0) return;
      begin('lookups');
      lookups.look(progress);
      block.draw(lookups.lines);
    },
    showLogos: (progress) => {
      if (progress.total === 0) return;
      begin('logos');
      block.draw((columns) => logosBlock(progress, paint, columns));
    },
    showRows: ({ written, total }) => {
      begin('rows');
      block.draw((columns) => [barLine({ done: written, total, unit: 'rows written' }, columns)]);
    },
    giveWay: () => {}, // other output comes above
    end: block.end,
  };
}
