import { request } from 'node:http';
import { type TestServer, useHttpServer } from './servers.ts';

/**
 * Has a server below a path, as nginx has it where nothing else is said: it is asked under its own name,
 * without the path. Closed when the test ends.
 */
export async function useReverseProxy(target: string, path: string): Promise<TestServer> {
  const { host } = new URL(target);
  return await useHttpServer((asked, answer) => {
    const { method, headers, url = '' } = asked;
    if (!url.startsWith(`${path}/`)) return void answer.writeHead(404).end();
    const forwarded = [headers['x-forwarded-for'], asked.socket.remoteAddress]
      .flat()
      .filter(Boolean);
    const options = {
      method,
      headers: { ...headers, host, 'x-forwarded-for': forwarded.join(', ') },
    };
    const passed = request(target + url.slice(path.length), options, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
}
