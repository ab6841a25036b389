import { describe, expect, it, onTestFinished } from 'vitest';

import type { Transport } from '../api/transport';
import { serveOverPort, requestOverPort } from './messagePort';

function connect(answer: Transport): Transport {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => {
    port1.close();
    port2.close();
  });
  serveOverPort(port2, answer);
  const send = requestOverPort(port1);
  port1.start();
  port2.start();
  return send;
}

const at = (path: string, init?: RequestInit): Request => new Request(`http://weir.test${path}`, init);

describe('fetch over a message port', () => {
  it('transfers method, status, headers and bodies', async () => {
    const send = connect(async (request) =>
      Response.json({ method: request.method, tag: request.headers.get('If-Match'), body: (await request.json()) as unknown }, { status: 202, headers: { ETag: '"7"' } }),
    );
    const answer = await send(at('/jobs', { method: 'PATCH', headers: { 'If-Match': '"6"' }, body: JSON.stringify({ name: 'orders' }) }));
    expect(answer.status).toBe(202);
    expect(answer.headers.get('ETag')).toBe('"7"');
    expect(await answer.json()).toEqual({ method: 'PATCH', tag: '"6"', body: { name: 'orders' } });
  });

  it('supports responses without a body', async () => {
    const answer = await connect(async () => new Response(null, { status: 204 }))(at('/session', { method: 'DELETE' }));
    expect(answer.status).toBe(204);
    expect(await answer.text()).toBe('');
  });

  it('matches concurrent requests with their responses', async () => {
    let release = (): void => {};
    const later = new Promise<void>((resolve) => (release = resolve));
    const send = connect(async (request) => {
      if (request.url.endsWith('/slow')) await later;
      return new Response(new URL(request.url).pathname);
    });
    const slow = send(at('/slow'));
    expect(await (await send(at('/fast'))).text()).toBe('/fast');
    release();
    expect(await (await slow).text()).toBe('/slow');
  });

  it('throws an error if the request fails', async () => {
    const send = connect(async () => {
      throw new TypeError('Failed to fetch');
    });
    await expect(send(at('/jobs'))).rejects.toThrow('Failed to fetch');
  });

  it('transfers streams and cancels them', async () => {
    let cancelled = (): void => {};
    const end = new Promise<void>((resolve) => (cancelled = resolve));
    let emit: (text: string) => void = () => {};
    const send = connect(async () => {
      const encoder = new TextEncoder();
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          emit = (text) => controller.enqueue(encoder.encode(text));
        },
        cancel: () => cancelled(),
      });
      return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
    });
    const reader = (await send(at('/stream'))).body!.getReader();
    emit('first');
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('first');
    emit('second');
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('second');
    await reader.cancel();
    await end;
  });

  it('aborts a request', async () => {
    let seen = (_: AbortSignal): void => {};
    const signal = new Promise<AbortSignal>((resolve) => (seen = resolve));
    const send = connect((request) => new Promise((_, reject) => {
      seen(request.signal);
      request.signal.addEventListener('abort', () => reject(new Error('aborted')));
    }));
    const aborter = new AbortController();
    const answer = send(at('/slow', { signal: aborter.signal }));
    const received = await signal;
    aborter.abort(new Error('aborted by the page'));
    await expect(answer).rejects.toThrow('aborted by the page');
    await expect.poll(() => received.aborted).toBe(true);
  });
});
