/** Parses server-sent events from chunks of text. A chunk can end at any character. See WHATWG HTML, section 9.2.6. */
export interface ServerMessage {
  /** The event type. The default is `message`. */
  event: string;
  data: string;
}

interface Parsed {
  messages: ServerMessage[];
  /** The id of the last complete event that has an id. */
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

  /** Return the messages that this chunk completes. A comment is only a keep-alive, so it does not complete a message. */
  push(chunk: string): Parsed {
    const messages: ServerMessage[] = [];
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') this.#field(line);
      else {
        // Update `#lastId` only when the event is complete. If a client resumed after the id of an incomplete event, it would never receive this event.
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
