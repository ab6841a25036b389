/** Said, and not seen: for who cannot see what says the same by where it stands or how it looks. */
export const HIDDEN = { position: 'absolute', width: '1px', height: '1px', overflow: 'hidden', clipPath: 'inset(50%)', whiteSpace: 'nowrap' } as const;
