import type { Verdict } from './access.ts';

const WORDS: Readonly<Record<Exclude<Verdict, 'granted'>, string>> = {
  wrong: 'That is not the token.',
  too_often: 'That is not the token, and too many others are wrong too: try again in a minute.',
};

/** The page that asks for the token. It contains nothing from outside. */
export function loginPage(verdict?: Exclude<Verdict, 'granted'>): string {
  const alert = verdict === undefined ? '' : `<p role="alert">${WORDS[verdict]}</p>`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Brandfill: sign in</title>
    <link rel="icon" href="icon.svg" />
    <link rel="stylesheet" href="style.css" />
  </head>
  <body>
    <main class="login">
      <h1>Brandfill</h1>
      ${alert}
      <form method="post" action="login">
        <label for="token">Token</label>
        <input id="token" name="token" type="password" required autocomplete="current-password" />
        <button>Sign in</button>
      </form>
      <p>It is the one that the dashboard was started with.</p>
    </main>
  </body>
</html>
`;
}
