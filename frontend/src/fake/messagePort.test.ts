import { describe, expect, it, onTestFinished } from 'vitest';

import type { Transport } from '../api/transport';
import { serveOverPort, requestOverPort } from './messagePort';

function joined(answer: Transport): Transport {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => {
    port1.close();
    port2.close();
  });
  serveOverPort(port2, answer);
  const ask = requestOverPort(port1);
  port1.start();
  port2.start();
  return ask;
}

const at = (path: string, init?: RequestInit): Request => new Request(`http://weir.test${path}`, init);

describe('fetch over a message port', () => {
  it('transfers method, status, headers and bodies', async () => {
    const ask = joined(async (request) =>
      Response.json({ method: request.method, tag: request.headers.get('If-Match'), body: (await request.json()) as unknown }, { status: 202, headers: { ETag: '"7"' } }),
    );
    const answer = await ask(at('/jobs', { method: 'PATCH', headers: { 'If-Match': '"6"' }, body: JSON.stringify({ name: 'orders' }) }));
    expect(answer.status).toBe(202);
    expect(answer.headers.get('ETag')).toBe('"7"');
    expect(await answer.json()).toEqual({ method: 'PATCH', tag: '"6"', body: { name: 'orders' } });
  });

  it('supports responses without a body', async () => {
    const answer = await joined(async () => new Response(null, { status: 204 }))(at('/session', { method: 'DELETE' }));
    expect(answer.status).toBe(204);
    expect(await answer.text()).toBe('');
  });

  it('matches concurrent requests with their responses', async () => {
    let release = (): void => {};
    const later = new Promise<void>((resolve) => (release = resolve));
    const ask = joined(async (request) => {
      if (request.url.endsWith('/slow')) await later;
      return new Response(new URL(request.url).pathname);
    });
    const slow = ask(at('/slow'));
    expect(await (await ask(at('/fast'))).text()).toBe('/fast');
    release();
    expect(await (await slow).text()).toBe('/slow');
  });

  it('reports a failed request', async () => {
    const ask = joined(async () => {
      throw new TypeError('Failed to fetch');
    });
    await expect(ask(at('/jobs'))).rejects.toThrow('Failed to fetch');
  });

  it('transfers streams and cancels them', async () => {
    let cancelled = (): void => {};
    const end = new Promise<void>((resolve) => (cancelled = resolve));
    let say: (text: string) => void = () => {};
    const ask = joined(async () => {
      const encoder = new TextEncoder();
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          say = (text) => controller.enqueue(encoder.encode(text));
        },
        cancel: () => cancelled(),
      });
      return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
    });
    const reader = (await ask(at('/stream'))).body!.getReader();
    say('first');
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('first');
    say('second');
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('second');
    await reader.cancel();
    await end;
  });

  it('aborts a request', async () => {
    let seen = (_: AbortSignal): void => {};
    const signal = new Promise<AbortSignal>((resolve) => (seen = resolve));
    const ask = joined((request) => new Promise((_, reject) => {
      seen(request.signal);
      request.signal.addEventListener('abort', () => reject(new Error('given up')));
    }));
    const over = new AbortController();
    const answer = ask(at('/slow', { signal: over.signal }));
    const there = await signal;
    over.abort(new Error('left'));
    await expect(answer).rejects.toThrow('left');
    await expect.poll(() => there.aborted).toBe(true);
  });
});
