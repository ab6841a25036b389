/** What a verb of the invented installation says instead of doing it. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly next = '',
  ) {}
}
