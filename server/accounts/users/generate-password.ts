import { randomInt } from 'node:crypto'

// Letters and digits that are not easily confused: without 0, O, o, 1, I and l.
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz'
const length = 16

/** Generates a one-time password of 16 characters, about 92 bits. `randomInt` has a uniform distribution. */
export const generatePassword = (): string => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
