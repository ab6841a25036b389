import { describe, expect, it } from 'vitest';

import { SseParser } from './sseParser';

const STREAM = ': following\nid: 4\n\nevent: event\ndata: {"number":5}\nid: 5\n\nevent: run\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: \n\n';

describe('the parser of server-sent events', () => {
  it('parses a stream correctly, wherever it is divided into chunks', () => {
    const whole = new SseParser().push(STREAM);
    expect(whole).toEqual({ messages: [{ event: 'event', data: '{"number":5}' }, { event: 'run', data: '{"a":\n1}' }], lastId: '5' });
    for (let cut = 1; cut < STREAM.length; cut += 1) {
      const parser = new SseParser();
      const [before, after] = [parser.push(STREAM.slice(0, cut)), parser.push(STREAM.slice(cut))];
      expect({ cut, messages: [...before.messages, ...after.messages], lastId: after.lastId }).toEqual({ cut, ...whole });
    }
  });

  it('returns the id of an event only when the event is complete', () => {
    const ends = ['4', '5'].map((id) => ({ id, at: STREAM.indexOf(`id: ${id}\n\n`) + `id: ${id}\n\n`.length }));
    for (let cut = 0; cut <= STREAM.length; cut += 1) {
      const complete = ends.findLast(({ at }) => at <= cut);
      expect({ cut, lastId: new SseParser('3').push(STREAM.slice(0, cut)).lastId }).toEqual({ cut, lastId: complete?.id ?? '3' });
    }
  });

  it('returns the id of an event without data', () => {
    expect(new SseParser().push(': following\nid: 17\n\n')).toEqual({ messages: [], lastId: '17' });
    expect(new SseParser('17').push(': \n\n').lastId).toBe('17');
  });

  it('returns no message until the message is complete', () => {
    const parser = new SseParser();
    expect(parser.push('event: run\ndata: 1\n').messages).toEqual([]);
    expect(parser.push('\n').messages).toEqual([{ event: 'run', data: '1' }]);
  });
});
