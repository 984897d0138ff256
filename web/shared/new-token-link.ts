import type { WantedToken } from '../tokens/purposes.ts'

/** Returns a link to the form for a new token. */
export const newTokenLink = ({ purpose, package: name }: WantedToken) => ({ name: 'tokens', query: { new: '1', purpose, package: name } })
