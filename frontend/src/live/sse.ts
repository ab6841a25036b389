/** Reading server-sent events out of chunks of text, wherever those are cut. As WHATWG HTML, 9.2.6, has it. */
export interface ServerMessage {
  /** What kind; `message` if nothing is said. */
  event: string;
  data: string;
}

export interface Parsed {
  messages: ServerMessage[];
  /** The id of the last event that is complete, or the one before if it has none. */
  lastId: string | null;
}

export class SseParser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id: string | null;
  #lastId: string | null;

  constructor(lastId: string | null = null) {
    this.#id = lastId;
    this.#lastId = lastId;
  }

  /** What is complete with this chunk. A comment is nothing but a sign of life: no messages. */
  push(chunk: string): Parsed {
    const messages: ServerMessage[] = [];
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') this.#field(line);
      else {
        // Not before: whoever came again with the id of an event that was cut off would never be told it.
        this.#lastId = this.#id;
        if (this.#data.length > 0) messages.push({ event: this.#event || 'message', data: this.#data.join('\n') });
        this.#event = '';
        this.#data = [];
      }
    }
    return { messages, lastId: this.#lastId };
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
  }
}
