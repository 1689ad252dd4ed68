import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// A process of its own that takes the lock at a path, and stops before each change in the folder until
// a byte comes in. It says `.` when it stops, `w` when it finds the lock taken, `H` when it has it.
const [path = ''] = process.argv.slice(2);
const say = (letter: string): number => fs.writeSync(1, letter);

function stopBefore(name: 'symlinkSync' | 'renameSync' | 'rmSync', pathAt: 0 | 1): void {
  const original = fs[name] as (...given: unknown[]) => unknown;
  const stepwise = (...given: unknown[]): unknown => {
    const isThere = fs.lstatSync(String(given[pathAt]), { throwIfNoEntry: false }) !== undefined;
    if (name === 'symlinkSync' && isThere) say('w');
    else {
      say('.');
      fs.readSync(0, Buffer.alloc(1));
    }
    return original(...given);
  };
  fs[name] = stepwise;
}
stopBefore('symlinkSync', 1);
stopBefore('renameSync', 1);
stopBefore('rmSync', 0);
syncBuiltinESMExports();

const { createLockLink } = await import('../../../src/common/lock-link.ts');
await createLockLink(path).acquire();
say('H');
