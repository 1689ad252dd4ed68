import { afterAll } from 'vitest';
import { forgetSecrets } from '../../src/common/secrets.ts';

// Test files share processes. What one of them gave as a credential, such as 'other', must not be
// left out of what the next one looks for.
afterAll(() => forgetSecrets());
